"""A power cut may tear the end off what SQLite had written: whatever is left opens, whole and in order, and
what was acknowledged is there up to some moment and not beyond.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.loop.live.test_crash import Acknowledged
from tests.support.depth import deep
from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, eventually

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="it tears a log of SQLite's own"),
]
TURNS = 40


def found(folder: Path, store: bytes, log: bytes) -> list[int]:
    """The numbers of the turns that are completed in a database with this log."""
    file = folder / "agents.sqlite3"
    for left in folder.iterdir():
        left.unlink()
    file.write_bytes(store)
    Path(f"{file}-wal").write_bytes(log)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        rows = connection.execute("SELECT number FROM agents_turn WHERE completed_at IS NOT NULL ORDER BY id")
        return [number for (number,) in rows]


@pytest.mark.timeout(900)
def test_what_a_power_cut_leaves_is_whole_and_in_order(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    server = start_server()
    file = server.folder / "data" / "agents.sqlite3"
    talk = Talk(Caller(server.port))
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        assert reader.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        reader.execute("BEGIN")
        reader.execute(
            "SELECT count(*) FROM agents_turn"
        ).fetchall()  # what is written from here on is in the log alone
        acknowledged = Acknowledged(talk)
        eventually(lambda: len(acknowledged.turns) >= TURNS, 60)
        server.kill()
        acknowledged.join()
        store, log = file.read_bytes(), Path(f"{file}-wal").read_bytes()
    told = len(acknowledged.turns)
    copy = tmp_path / "copy"
    copy.mkdir()

    assert len(found(copy, store, log)) in {told, told + 1}  # the last one's answer was on its way
    chance, lengths = random.Random(len(log)), set()
    for number in range(deep(40, 500)):
        cut = chance.randrange(len(log) + 1)
        torn = chance.randbytes(min(len(log) - cut, 4096)) if number % 2 else b""  # a sector half written
        there = found(copy, store, log[:cut] + torn)
        assert there == list(range(len(there))), cut
        lengths.add(len(there))
    assert len(lengths) > 5  # the cuts were where it matters
    server.start()
