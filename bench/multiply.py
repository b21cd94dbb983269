"""Copies of responses: a store with a hundred thousand of them in seconds, made of some that were really
run. Each copy has ids of its own and all the rows of its original; what is searched for in words is left
out. SQLite only."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

SHIFT = 1 << 24
"""Between the keys of two copies: sixteen milliseconds, so that many share a second."""
_KEYS = {
    "agents_session": ("id", "last_turn"),
    "agents_turn": ("id", "session_id"),
    "agents_turnbody": ("turn_id",),
    "agents_response": ("id", "turn_id"),
    "agents_step": ("id", "turn_id"),
    "agents_stepdetail": ("step_id",),
    "agents_item": ("id", "session_id", "turn_id", "step_id"),
    "agents_eventpack": ("turn_id",),
}
"""The columns of each table that hold keys which move along."""


def multiply(folder: Path, times: int) -> int:
    """Copy everything that is stored so many times, each copy older than the last; returns how many
    responses there are then."""
    [path] = folder.glob("*.sqlite3")
    with closing(sqlite3.connect(path, timeout=60)) as database:
        for table, keys in _KEYS.items():
            _copy(database, table, keys, times)
        database.commit()
        database.execute("ANALYZE")
        return int(database.execute("SELECT count(*) FROM agents_response").fetchone()[0])


def _copy(database: sqlite3.Connection, table: str, keys: Sequence[str], times: int) -> None:
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    copied = ", ".join(f"{name} - n.value * {SHIFT}" if name in keys else name for name in columns)
    database.execute(
        f"WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < {times}) "
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {copied} FROM {table} CROSS JOIN n"
    )
