"""Failures of the database: unreachable, full, locked for too long, or read-only.

None is a mistake in a request or in our code, and all are temporary: callers get 503 and retry. They are
told by the database's own error code, not by the exception's class: that is the same for a full disk and
for a missing table.
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

from agents.base import metrics
from agents.base.errors import Unavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreFailure:
    """A kind of failure, with its ``name`` in metrics. ``single_statement`` ones affect one statement or request, the
    others everybody who writes."""

    name: str
    message: str
    retry_after_s: int
    single_statement: bool = False


AWAY = StoreFailure("away", "cannot be reached", 5)
FULL = StoreFailure("full", "is full", 30)
HELD = StoreFailure("held", "is held by somebody else", 1)
READ_ONLY = StoreFailure("read_only", "cannot be written", 30)
BROKEN = StoreFailure("broken", "cannot be read or written", 30)
CROWDED = StoreFailure("crowded", "has too much to do", 2)
RACED = StoreFailure("raced", "has too many writers of the same", 1, single_statement=True)
EXHAUSTED = StoreFailure("exhausted", "has no connection free", 2, single_statement=True)
SLOW = StoreFailure("slow", "takes too long", 5, single_statement=True)

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


def _is_of_psycopg(error: BaseException | None, *names: str, module: str = "psycopg") -> bool:
    """Tell whether an error is one of psycopg's classes of these names. The driver is not imported for that: if it is
    not loaded it has raised nothing, and it takes eight megabytes."""
    driver = sys.modules.get(module)
    return driver is not None and isinstance(error, tuple(getattr(driver, name) for name in names))


def classify(error: BaseException | None) -> StoreFailure | None:
    """Return the failure behind an exception; None for any other error."""
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
    if _is_of_psycopg(cause, "PoolTimeout", module="psycopg_pool"):
        return EXHAUSTED
    # one that has no code never reached the server, or lost it
    lost = isinstance(error, OperationalError | InterfaceError)
    return AWAY if lost or _is_of_psycopg(error, "OperationalError", "InterfaceError") else None


def unavailable(error: BaseException, where: str = "") -> Unavailable | None:
    """Return the 503 for an exception that is a failure of the store; None for another. It is recorded in the
    log, ``where`` naming what failed."""
    failure = classify(error)
    if failure is None:
        return None
    failure_log.record(failure, error, where)
    return Unavailable(
        f"The store {failure.message}; try again later.", code="store_unavailable", retry_after_s=failure.retry_after_s
    )


# ------------------------------------------------------------------------------------------------- log

LOG_INTERVAL_S = 10.0
"""How often a lasting failure is logged."""


@dataclass(slots=True)
class _LogState:
    logged_at: float = float("-inf")
    count: int = 0


@dataclass
class FailureLog:
    """Logs failures at a limited rate: a database that is down fails a thousand times a second, always alike."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _states: dict[StoreFailure, _LogState] = field(default_factory=dict)
    _last: tuple[StoreFailure, float] | None = None

    def record(self, failure: StoreFailure, error: BaseException, where: str = "") -> None:
        """Log a failure at once, and again every ten seconds with how often it occurred."""
        metrics.count_failure(failure.name)
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

    @property
    def last(self) -> tuple[StoreFailure, float] | None:
        """The last failure of the store itself, and how many seconds ago it was."""
        last = self._last
        return None if last is None else (last[0], self.clock() - last[1])

    def recent(self, within_s: float) -> StoreFailure | None:
        """Return the failure of the store itself within so many seconds, if any."""
        last = self._last
        return last[0] if last is not None and self.clock() - last[1] < within_s else None


failure_log = FailureLog()
"""The process's log of failures."""


def forget() -> None:
    """Reset the log of failures (tests)."""
    global failure_log
    failure_log = FailureLog()


class StoreFailureFilter(logging.Filter):
    """A logging filter that drops tracebacks of failures of the store: `failure_log` logs those, in one line. It
    drops the log lines of the requests that got 503 for them, too."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) == Unavailable.status:
            return False
        error = record.exc_info[1] if record.exc_info else None
        failure = classify(error)
        if error is None or failure is None:
            return True
        failure_log.record(failure, error, record.name)
        return False
