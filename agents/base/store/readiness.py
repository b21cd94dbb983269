"""Checks whether the store can be written, for load balancers.

A check costs little and is cached for a second. It takes the write lock and releases it, which says
nothing of free space: for that it checks the disk, and how the last writes went.
"""

from __future__ import annotations

import threading
import time

from django.db import connection

from agents.base.store import failures, vitals
from agents.base.store.busy_timeout import lock_timeout

MIN_FREE_BYTES = 64 * 2**20
"""Bytes that must be free on the disk: SQLite's log alone may grow to that."""
CACHE_S = 1.0
"""How long a result is cached, and how long a check waits for the write lock."""
RECENT_S = 5.0
"""How long a failed write counts."""


_lock = threading.Lock()
_problem, _until = "", 0.0
"""The newest result, and until when it is cached."""


def problem() -> str:
    """Return why the store cannot be written, as a text without details; empty when it can."""
    global _problem, _until
    with _lock:
        if time.monotonic() >= _until:
            _problem = _check()
            _until = time.monotonic() + CACHE_S
        return _problem


def forget() -> None:
    """Drop the cached result."""
    global _until
    _until = 0.0


def _check() -> str:
    try:
        failure = failures.failure_log.recent(RECENT_S) or _space_failure() or _write_failure()
    except Exception as error:
        failure = failures.classify(error)
        if failure is None:
            raise
        failures.failure_log.record(failure, error, "readyz")
    return f"the database {failure.message}" if failure else ""


def _space_failure() -> failures.StoreFailure | None:
    return failures.FULL if vitals.free_bytes() < MIN_FREE_BYTES else None


def _write_failure() -> failures.StoreFailure | None:
    if connection.in_atomic_block:
        return None
    with lock_timeout(CACHE_S), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute("ROLLBACK")
            return None
        cursor.execute("SHOW transaction_read_only")  # also where another server has taken this one's place
        return failures.READ_ONLY if cursor.fetchone()[0] == "on" else None
