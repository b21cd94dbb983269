"""How long a connection to PostgreSQL waits for the locks of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db.backends.base.base import BaseDatabaseWrapper


@contextmanager
def waiting_for_locks(database: BaseDatabaseWrapper, at_most_ms: int) -> Iterator[None]:
    """Within the block, let a statement on this connection to PostgreSQL wait so long for the locks of others, and
    fail then; 0 is for ever. Afterwards it is as it was."""
    before = _set_lock_timeout(database, str(at_most_ms))
    try:
        yield
    finally:
        if database.is_usable():  # what raised may have been the connection's end, and is what is to be told
            _set_lock_timeout(database, before)


def _set_lock_timeout(database: BaseDatabaseWrapper, value: str) -> str:
    with database.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        before = str(cursor.fetchone()[0])
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [value])
    return before
