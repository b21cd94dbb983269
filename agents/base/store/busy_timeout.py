"""How long a connection waits while somebody else writes. Only SQLite has one place for writing; its readers
never wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def lock_timeout(seconds: float) -> Iterator[None]:
    """Within the block this thread's connection waits no longer than that."""
    if connection.vendor != "sqlite":
        yield
        return
    _set_timeout(seconds)
    try:
        yield
    finally:
        _set_timeout(connection.settings_dict["OPTIONS"]["timeout"])


def _set_timeout(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}")
