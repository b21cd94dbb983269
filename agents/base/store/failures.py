"""Trouble of the store's own: it is away, full, held by somebody else for too long, or cannot be written.

None of it is a mistake in a request or in our code, and all of it passes: whoever asks is told to come
again. What counts is what the database itself says, its code, not the class it is raised as: that is the
same for a disk that is full and for a table that is not there.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import Error, InterfaceError, OperationalError

from agents.base.errors import Unavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreFailure:
    """One kind of it. ``of_one`` befalls one statement; of the others, all that write suffer."""

    message: str
    retry_after_s: int
    single_statement: bool = False


AWAY = StoreFailure("cannot be reached", 5)
FULL = StoreFailure("is full", 30)
HELD = StoreFailure("is held by somebody else", 1)
READ_ONLY = StoreFailure("cannot be written", 30)
BROKEN = StoreFailure("cannot be read or written", 30)
CROWDED = StoreFailure("has too much to do", 2)
RACED = StoreFailure("has too many writers of the same", 1, single_statement=True)
SLOW = StoreFailure("takes too long", 5, single_statement=True)

_SQLITE = {
    sqlite3.SQLITE_BUSY: HELD,
    sqlite3.SQLITE_LOCKED: HELD,
    sqlite3.SQLITE_PROTOCOL: HELD,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: AWAY,
    sqlite3.SQLITE_IOERR: BROKEN,
    sqlite3.SQLITE_CORRUPT: BROKEN,
    sqlite3.SQLITE_NOTADB: BROKEN,
    sqlite3.SQLITE_NOMEM: CROWDED,
    sqlite3.SQLITE_INTERRUPT: SLOW,
}
_POSTGRESQL = {
    "08": AWAY,
    "25006": READ_ONLY,
    "40": RACED,
    "53": CROWDED,
    "53100": FULL,
    "55P03": HELD,
    "57": AWAY,
    "57014": SLOW,
    "58": BROKEN,
    "XX001": BROKEN,
    "XX002": BROKEN,
}
"""By SQLSTATE, or the class that it begins with (PostgreSQL's manual, appendix A)."""
_DISK = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EROFS: READ_ONLY}


def _is_of_psycopg(error: BaseException | None, *names: str) -> bool:
    """Whether it is one of the driver's errors of these names. One that is not loaded has raised nothing, and is not
    loaded to be asked: it takes eight megabytes."""
    driver = sys.modules.get("psycopg")
    return driver is not None and isinstance(error, tuple(getattr(driver, name) for name in names))


def classify(error: BaseException | None) -> StoreFailure | None:
    """The trouble that an error is of; None for mistakes, ours or others'."""
    if isinstance(error, OSError):
        return _DISK.get(error.errno or 0)
    if not isinstance(error, Error | sqlite3.Error) and not _is_of_psycopg(error, "Error"):
        return None
    cause = error.__cause__ if isinstance(error, Error) else error
    if isinstance(cause, sqlite3.Error):
        return _SQLITE.get(getattr(cause, "sqlite_errorcode", 0) & 0xFF)
    state: str | None = getattr(cause, "sqlstate", None)
    if state is not None:
        return _POSTGRESQL.get(state) or _POSTGRESQL.get(state[:2])
    # one that has no code never reached the server, or lost it
    lost = isinstance(error, OperationalError | InterfaceError)
    return AWAY if lost or _is_of_psycopg(error, "OperationalError", "InterfaceError") else None


def unavailable(error: BaseException, where: str = "") -> Unavailable | None:
    """What a caller is told of an error that is the store's trouble; None for another. It is noted in the
    log, ``where`` saying what it befell."""
    failure = classify(error)
    if failure is None:
        return None
    failure_log.record(failure, error, where)
    return Unavailable(
        f"The store {failure.message}; try again later.", code="store_unavailable", retry_after_s=failure.retry_after_s
    )


# ------------------------------------------------------------------------------------------------- log

LOG_INTERVAL_S = 10.0
"""How often a trouble that goes on is told."""


@dataclass(slots=True)
class _LogState:
    logged_at: float = float("-inf")
    count: int = 0


@dataclass
class FailureLog:
    """What the log was told, and since when there is quiet: a store that is away fails a thousand times a
    second, and says the same each time."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _states: dict[StoreFailure, _LogState] = field(default_factory=dict)
    _last: tuple[StoreFailure, float] | None = None

    def record(self, failure: StoreFailure, error: BaseException, where: str = "") -> None:
        """Tell it at once, and again every ten seconds with how often it was."""
        now = self.clock()
        with self._lock:
            if not failure.single_statement:
                self._last = failure, now
            state = self._states.setdefault(failure, _LogState())
            state.count += 1
            if now - state.logged_at < LOG_INTERVAL_S:
                return
            count, state.logged_at, state.count = state.count, now, 0
        message = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning("the store %s (%d times; %s): %s", failure.message, count, where or "behind requests", message)

    def recent(self, within_s: float) -> StoreFailure | None:
        """What has befallen the store itself within so many seconds, if anything has."""
        last = self._last
        return last[0] if last is not None and self.clock() - last[1] < within_s else None


failure_log = FailureLog()
"""Of this process."""


def forget() -> None:
    """As if there had never been any."""
    global failure_log
    failure_log = FailureLog()


class StoreFailureFilter(logging.Filter):
    """Of records that tell an error with its whole way to it, lets those through that are no trouble of the
    store's: those are noted, in one line. That a request was answered 503 for it, too, is told by that."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) == Unavailable.status:
            return False
        error = record.exc_info[1] if record.exc_info else None
        failure = classify(error)
        if error is None or failure is None:
            return True
        failure_log.record(failure, error, record.name)
        return False
