#!/usr/bin/env python
"""Django's command line for this project."""

import gc
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from agentsite import memory, optional_imports

if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        memory.use_system_allocator()
    # what is imported stays: to look for garbage in it again and again took a quarter of every start
    gc.set_threshold(50_000, 20, 100)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    try:
        if sys.argv[1:2] == ["serve"]:
            optional_imports.keep_out()
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Cannot start: {error}")
