#!/usr/bin/env python
"""The command line in a clone; data is in ``var/`` unless DATA_DIR names another folder."""

import sys

if sys.version_info < (3, 11):
    sys.exit(f"Turnlog needs Python 3.11 or later: this is {sys.version.split()[0]}.")

from agentsite.command_line import run

if __name__ == "__main__":
    run(sys.argv)
