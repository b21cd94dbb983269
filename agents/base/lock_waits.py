"""How long a connection to PostgreSQL waits for the locks of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

T = TypeVar("T")

PAUSE_S = 1.0
MAX_TRIES = 200
_HELD_UP = {"55P03", "40P01"}  # waited as long as it may; would have waited for one that waits for it


@contextmanager
def waiting_for_locks(database: BaseDatabaseWrapper, at_most_ms: int) -> Iterator[None]:
    """Within the block, let each statement of a transaction on this connection to PostgreSQL wait so long for the locks
    of others, and fail then. It is set of the transaction: what is set of a session, a pooler hands on to others."""

    def limited(execute: Callable[..., Any], sql: str, values: Any, many: bool, context: dict[str, Any]) -> Any:
        if database.in_atomic_block:
            execute("SELECT set_config('lock_timeout', %s, true)", [f"{at_most_ms}ms"], False, context)
        return execute(sql, values, many, context)

    with database.execute_wrapper(limited):
        yield


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
