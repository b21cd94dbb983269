"""The data of another version: copied before it is migrated, and refused where it is newer."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess
from turnlog import __version__

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="copies are of SQLite files"),
]


@pytest.fixture
def older(tmp_path: Path) -> ServerProcess:
    """A server that is not started, on the demo as an older version left it."""
    (tmp_path / "data").mkdir()
    server = ServerProcess(tmp_path)
    server.manage("migrate")
    server.manage("demo")
    server.manage("migrate", "agents", "0022")
    return server


def copies(folder: Path) -> list[Path]:
    return sorted((folder / "data" / "backups").glob("*"))


def start(server: ServerProcess) -> subprocess.CompletedProcess[str]:
    """A start that must fail."""
    line = [sys.executable, "manage.py", "serve", "--port", "0"]
    return subprocess.run(
        line, cwd=ROOT, env=server.environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_older_data_is_copied_and_then_migrated(tmp_path: Path, older: ServerProcess) -> None:
    older.start()
    assert Caller(older.port).get("/v1/logs/turns").json["data"]
    older.stop()
    [copy] = copies(tmp_path)
    assert str(copy) in older.log
    assert copy.stat().st_mode & 0o077 == 0
    with closing(sqlite3.connect(copy)) as database:
        [[last]] = database.execute("SELECT max(name) FROM django_migrations WHERE app = 'agents'").fetchall()
        [[turns]] = database.execute("SELECT count(*) FROM agents_turn").fetchall()
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert last.startswith("0022")
    assert turns > 10
    older.start().stop()
    assert copies(tmp_path) == [copy]


def test_two_copies_are_kept(tmp_path: Path, older: ServerProcess) -> None:
    folder = tmp_path / "data" / "backups"
    folder.mkdir()
    for number in range(4):
        (folder / f"before-000{number}-20200101-000000.sqlite3").touch()
        os.utime(folder / f"before-000{number}-20200101-000000.sqlite3", (number, number))
    (folder / "mine.sqlite3").touch()
    older.manage("migrate")
    names = [path.name for path in copies(tmp_path)]
    assert names[0] == "before-0003-20200101-000000.sqlite3"
    assert names[1].startswith("before-0023-")
    assert names[2:] == ["mine.sqlite3"]


def test_a_setting_leaves_the_copy_out(tmp_path: Path, older: ServerProcess) -> None:
    older.use(COPY_BEFORE_MIGRATION="false")
    older.manage("migrate")
    assert copies(tmp_path) == []


@pytest.mark.parametrize("named", [True, False])
def test_newer_data_is_refused_by_its_version(tmp_path: Path, named: bool) -> None:
    (tmp_path / "data").mkdir()
    server = ServerProcess(tmp_path)
    server.manage("migrate")
    with sqlite3.connect(tmp_path / "data" / "agents.sqlite3") as database:
        values = "('agents', '9999_of_next_year', '2030-01-01')"
        database.execute(f"INSERT INTO django_migrations (app, name, applied) VALUES {values}")
    database.close()
    if named:
        (tmp_path / "data" / "version").write_text("9.8.7\n")
    for environment in ({}, {"MIGRATE": "false"}):
        server.use(**environment)
        refused = start(server)
        assert refused.returncode == 1
        assert f"last used by {'Turnlog 9.8.7' if named else 'a newer version of Turnlog'}" in refused.stderr
        assert f"that {__version__} does not know, the last is 9999_of_next_year" in refused.stderr
        assert "Traceback" not in refused.stderr
