"""How long a connection to PostgreSQL waits for the locks of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")

PAUSE_S = 1.0
MAX_TRIES = 200
_HELD_UP = {"55P03", "40P01"}  # waited as long as it may; would have waited for one that waits for it


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


def is_held_up(error: OperationalError) -> bool:
    """Tell whether a statement was given up because others hold what it needs."""
    return getattr(error.__cause__, "sqlstate", "") in _HELD_UP


def until_unlocked(work: Callable[[], T], on_wait: Callable[[], None]) -> T:
    """Do some work again and again as long as a lock that it needs is somebody else's, at most `MAX_TRIES` times;
    ``on_wait`` is called after the first. Raises TimeoutError, and what the work raises."""
    for tries in range(1, MAX_TRIES + 1):
        try:
            return work()
        except OperationalError as error:
            if not is_held_up(error):
                raise
        if tries == 1:
            on_wait()
        time.sleep(PAUSE_S)  # who queued up behind the attempt has a turn; nobody tells when a lock is given up
    raise TimeoutError(f"A table was in use whenever it was to be changed, {MAX_TRIES} times in a row.")


def _set_lock_timeout(database: BaseDatabaseWrapper, value: str) -> str:
    with database.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        before = str(cursor.fetchone()[0])
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [value])
    return before
