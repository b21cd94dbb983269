"""Starting a server on data that it cannot use: it says why, and ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.server


def test_a_store_that_is_no_database_ends_the_start_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "agents.sqlite3").write_bytes(b"no database, whatever its name says " * 400)
    own = {"DATA_DIR": str(tmp_path), "DATABASE_URL": "", "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
    line = [sys.executable, "manage.py", "serve", "--port", "0"]
    result = subprocess.run(
        line, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 1
    assert "Cannot use the database (DATABASE_URL): file is not a database" in result.stderr
    assert "Traceback" not in result.stderr
