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
class Trouble:
    """One kind of it. ``of_one`` befalls one statement; of the others, all that write suffer."""

    words: str
    retry_after_s: int
    of_one: bool = False


AWAY = Trouble("cannot be reached", 5)
FULL = Trouble("is full", 30)
HELD = Trouble("is held by somebody else", 1)
READ_ONLY = Trouble("cannot be written", 30)
BROKEN = Trouble("cannot be read or written", 30)
CROWDED = Trouble("has too much to do", 2)
RACED = Trouble("has too many writers of the same", 1, of_one=True)
SLOW = Trouble("takes too long", 5, of_one=True)

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


def of(error: BaseException | None) -> Trouble | None:
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
    found = of(error)
    if found is None:
        return None
    noted.note(found, error, where)
    return Unavailable(
        f"The store {found.words}; try again later.", code="store_unavailable", retry_after_s=found.retry_after_s
    )


# ------------------------------------------------------------------------------------------------- log

EVERY_S = 10.0
"""How often a trouble that goes on is told."""


@dataclass(slots=True)
class _Told:
    at: float = float("-inf")
    since: int = 0


@dataclass
class Noted:
    """What the log was told, and since when there is quiet: a store that is away fails a thousand times a
    second, and says the same each time."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _told: dict[Trouble, _Told] = field(default_factory=dict)
    _last: tuple[Trouble, float] | None = None

    def note(self, trouble: Trouble, error: BaseException, where: str = "") -> None:
        """Tell it at once, and again every ten seconds with how often it was."""
        now = self.clock()
        with self._lock:
            if not trouble.of_one:
                self._last = trouble, now
            told = self._told.setdefault(trouble, _Told())
            told.since += 1
            if now - told.at < EVERY_S:
                return
            often, told.at, told.since = told.since, now, 0
        words = (str(error).strip() or type(error).__name__).splitlines()[0]
        log.warning("the store %s (%d times; %s): %s", trouble.words, often, where or "behind requests", words)

    def recent(self, within_s: float) -> Trouble | None:
        """What has befallen the store itself within so many seconds, if anything has."""
        last = self._last
        return last[0] if last is not None and self.clock() - last[1] < within_s else None


noted = Noted()
"""Of this process."""


def forget() -> None:
    """As if there had never been any."""
    global noted
    noted = Noted()


class Once(logging.Filter):
    """Of records that tell an error with its whole way to it, lets those through that are no trouble of the
    store's: those are noted, in one line. That a request was answered 503 for it, too, is told by that."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) == Unavailable.status:
            return False
        error = record.exc_info[1] if record.exc_info else None
        found = of(error)
        if error is None or found is None:
            return True
        noted.note(found, error, record.name)
        return False
