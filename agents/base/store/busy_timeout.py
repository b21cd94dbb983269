"""Sets how long a connection waits for another writer. Only SQLite has a single write lock; its readers never
wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def lock_timeout(seconds: float) -> Iterator[None]:
    """Limit the wait of this thread's connection for the write lock, within the block."""
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
