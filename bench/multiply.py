"""Copies of responses: a store with a hundred thousand of them in seconds, made of some that were really
run. Each copy has ids of its own and all the rows of its original; what is searched for in words is left
out."""

from __future__ import annotations

from bench.server import Launcher

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


def multiply(launcher: Launcher, store: str, times: int) -> int:
    """Copy everything that is stored so many times, each copy older than the last; returns how many
    responses there are then. Blocking."""
    for table, keys in _KEYS.items():
        columns = _columns(launcher, store, table)
        copied = ", ".join(f"{name} - n.value * {SHIFT}" if name in keys else name for name in columns)
        launcher.query(
            store,
            f"WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < {times}) "
            f"INSERT INTO {table} ({', '.join(columns)}) SELECT {copied} FROM {table} CROSS JOIN n RETURNING 0",
        )
    launcher.query(store, "ANALYZE")
    return int(launcher.query(store, "SELECT count(*) FROM agents_response")[0][0])


def _columns(launcher: Launcher, store: str, table: str) -> list[str]:
    """Those that are stored, not made of others."""
    asked = f"SELECT name FROM pragma_table_info('{table}')"
    if launcher.on_postgresql:
        asked = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
        asked += " AND is_generated = 'NEVER'"
    return [str(name) for (name,) in launcher.query(store, asked)]
