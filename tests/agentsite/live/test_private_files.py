"""Whose files the server's data are: its owner's alone, whatever the umask, and also where they were not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.base.store.sqlite import ENGINE as SQLITE
from agentsite.sqlite import make_private
from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, running

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="about SQLite's files"),
]

DATABASE = ("agents.sqlite3", "agents.sqlite3-shm", "agents.sqlite3-wal")


@pytest.fixture
def _careless() -> Iterator[None]:
    """Files of this process, and of those it starts, may be read and written by all who like."""
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """What others could read or write, if they found it; the pages' own files are everybody's."""
    found = [folder, *(path for path in folder.rglob("*") if "static" not in path.parts)]
    return [path.name for path in found if path.stat().st_mode & 0o077]


@pytest.mark.usefixtures("_careless")
def test_data_are_their_owners_alone(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        data = tmp_path / "data"
        Talk(Caller(process.port)).say("hello")
        assert {path.name for path in data.iterdir()} >= {*DATABASE, "secret"}
        assert open_to_others(data) == []
        process.kill()
        for name in DATABASE:
            (data / name).chmod(0o664)
        process.start()
        Talk(Caller(process.port)).say("hello")
        assert open_to_others(data) == []


@pytest.mark.usefixtures("_careless")
def test_a_command_makes_a_database_of_its_owners_alone(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path)
    process.manage("migrate", "--verbosity=0")
    assert (tmp_path / "data" / "agents.sqlite3").exists()
    assert open_to_others(tmp_path / "data") == []


def test_files_whose_rights_cannot_be_seen_or_changed_are_told(tmp_path: Path) -> None:
    engine, plain = SQLITE, tmp_path / "plain"
    plain.touch()
    beyond = plain / "agents.sqlite3"  # no system lets one look there
    assert beyond in make_private({"ENGINE": engine, "NAME": beyond})
    assert make_private({"ENGINE": engine, "NAME": ":memory:"}) == []
    assert make_private({"ENGINE": "django.db.backends.postgresql", "NAME": "agents"}) == []
