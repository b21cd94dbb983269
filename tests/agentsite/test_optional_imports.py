"""What a server leaves out of its memory: libraries that others import only because they are installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import ROOT

SERVING = """
import os, sys
from agentsite import optional_imports
optional_imports.keep_out()
os.environ["DJANGO_SETTINGS_MODULE"] = "agentsite.settings"
import django
django.setup()
import agentsite.server, agentsite.urls
others = ("psycopg", "cffi", "cryptography", "unittest")
print(*(name for name in (*optional_imports.UNUSED, *others) if sys.modules.get(name)))
"""


@pytest.mark.parametrize(("database", "imported"), [("", ""), ("postgres://user@localhost/name", "psycopg")])
def test_a_server_imports_only_the_drivers_that_it_uses(tmp_path: object, database: str, imported: str) -> None:
    environment = {**os.environ, "DATA_DIR": str(tmp_path), "DATABASE_URL": database}
    line = [sys.executable, "-W", "error", "-c", SERVING]
    result = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (result.stdout.strip(), result.returncode) == (imported, 0), result.stderr
