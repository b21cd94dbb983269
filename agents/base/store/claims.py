"""Claims: work that several processes see is done by one of them at a time.

A claim is a lock on a number of the work's kind, not on its rows: whoever writes these meanwhile, such as a
sender of more spans, does not wait for it. It belongs to a worker's connection and goes with that, so what a
process had claimed when it died may be claimed again at once; nothing has to be renewed, and no clock is read.

On PostgreSQL it is an advisory lock of an open transaction on a connection of its own. That works through a
pooler in transaction mode, too, where it takes one server connection for as long as something is claimed. On
SQLite it is a lock of the system on a byte of a file beside the database, which other processes of this machine
respect; a database in memory has but one process.
"""

from __future__ import annotations

import fcntl
import os
import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from functools import cache
from hashlib import blake2b
from typing import Any, Protocol

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import Error, OperationalError

WAIT_S = 0.1
"""About how long a worker that waits for a claim sleeps before it tries again. It holds no snapshot meanwhile,
which an index that is built concurrently would wait for."""


class ClaimKind(IntEnum):
    """The kinds of work. Processes of different versions may run side by side: a number never changes."""

    START = 1
    ROUNDS = 2
    SENDER = 3
    IMPORT = 4
    DOCUMENT = 5
    SESSION = 6


class Claims:
    """What one worker has claimed of one kind of work. It may be used by several threads, one after the other."""

    def __init__(self, kind: ClaimKind) -> None:
        self._kind = kind
        self._mutex = threading.Lock()
        self._locks: _Locks | None = None

    def take(self, keys: Sequence[int]) -> list[int]:
        """Claim what nobody has claimed, this worker included; returns it in the order of ``keys``. Raises
        OperationalError, InterfaceError."""
        if not keys:
            return []
        by_number = {_number(self._kind, key): key for key in keys}
        with self._mutex:
            if self._locks is None:
                self._locks = _TransactionLocks() if connection.vendor == "postgresql" else _ByteLocks()
            try:
                taken = self._locks.take(list(by_number))
            except Error:
                self._close()
                raise
        return [key for number, key in by_number.items() if number in taken]

    def is_held(self) -> bool:
        """Whether what was claimed still is: a connection may have been lost."""
        with self._mutex:
            if self._locks is None or not self._locks.are_held():
                self._close()
                return False
            return True

    def release(self) -> None:
        """Give up all claims; the connection is kept for the next ones."""
        with self._mutex:
            if self._locks is not None:
                try:
                    self._locks.release()
                except Error:  # it was lost, and the claims with it
                    self._close()

    def close(self) -> None:
        """Give up all claims and the connection."""
        with self._mutex:
            self._close()

    def _close(self) -> None:
        if self._locks is not None:
            self._locks.close()
            self._locks = None


@contextmanager
def claimed(kind: ClaimKind, key: int = 0) -> Iterator[None]:
    """Hold a claim for the block, which begins as soon as nobody else has it."""
    claims = Claims(kind)
    try:
        while not claims.take([key]):
            claims.close()
            time.sleep(random.uniform(WAIT_S / 2, WAIT_S * 3 / 2))  # noqa: S311 - spreads those that wait, guards nothing
        yield
    finally:
        claims.close()


def lock_to_the_end(kind: ClaimKind, keys: Iterable[int]) -> None:
    """Wait until no other transaction has these locks, and hold them to the end of the caller's. On SQLite transactions
    write one after the other anyway."""
    numbers = sorted(_number(kind, key) for key in keys)  # in one order, so that no two wait for each other
    if connection.vendor == "postgresql" and numbers:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK, [numbers])


_LOCK = "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(number) FROM unnest(%s::bigint[]) AS number) AS locked"


def _number(kind: ClaimKind, key: int) -> int:
    """The number of a lock, positive and of 62 bits: both databases take that."""
    data = kind.to_bytes(1, "big") + key.to_bytes(8, "big")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 2


class _Locks(Protocol):
    def take(self, numbers: Sequence[int]) -> set[int]: ...

    def are_held(self) -> bool: ...

    def release(self) -> None: ...

    def close(self) -> None: ...


# ------------------------------------------------------------------------------------------- PostgreSQL

_SETTINGS = {
    "idle_in_transaction_session_timeout": "0",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}
"""The transaction does nothing for as long as the work takes. A machine that is gone without a word is noticed
within some ten seconds, instead of hours."""
_BEGIN = "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _SETTINGS.items())
_TAKE = "SELECT number FROM unnest(%s::bigint[]) AS number WHERE pg_try_advisory_xact_lock(number)"


class _TransactionLocks:
    """Advisory locks of a transaction."""

    def __init__(self) -> None:
        self._connection: Any = connection.copy()
        self._connection.inc_thread_sharing()
        self._held: set[int] = set()

    def take(self, numbers: Sequence[int]) -> set[int]:
        if not self._held:
            self._begin()
        with self._connection.cursor() as cursor:
            # the same connection would get a lock again, which it has
            cursor.execute(_TAKE, [[number for number in numbers if number not in self._held]])
            taken = {int(row[0]) for row in cursor.fetchall()}
        self._held |= taken
        if not self._held:
            self._connection.rollback()
        return taken

    def _begin(self) -> None:
        if self._connection.connection is None:
            self._connection.connect()
            self._connection.set_autocommit(False)
        with self._connection.cursor() as cursor:
            cursor.execute(_BEGIN)

    def are_held(self) -> bool:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except Error:
            return False
        return bool(self._held)

    def release(self) -> None:
        if self._held:
            self._held.clear()
            self._connection.rollback()

    def close(self) -> None:
        with suppress(Error):
            self.release()  # at once: the server notices only a moment later that a connection is closed
        with suppress(Error):
            self._connection.close()


# ----------------------------------------------------------------------------------------------- SQLite

_mutex = threading.Lock()
_taken: set[int] = set()
"""The locks of this process: the system tells processes apart, not their threads."""


class _ByteLocks:
    """Locks on bytes of a file."""

    def __init__(self) -> None:
        self._file = _file(_path(connection))
        self._held: set[int] = set()

    def take(self, numbers: Sequence[int]) -> set[int]:
        taken: set[int] = set()
        with _mutex:
            for number in numbers:
                if number not in _taken and self._lock(number):
                    taken.add(number)
            _taken.update(taken)
        self._held |= taken
        return taken

    def _lock(self, number: int) -> bool:
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except (BlockingIOError, PermissionError):  # the two that systems say for a lock that another has
            return False
        return True

    def are_held(self) -> bool:
        return bool(self._held)

    def release(self) -> None:
        with _mutex:
            for number in self._held:
                if self._file is not None:
                    fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)
            _taken.difference_update(self._held)
        self._held.clear()

    close = release


def _path(database: BaseDatabaseWrapper) -> str:
    """The file beside a database; empty for one in memory."""
    name = str(database.settings_dict["NAME"])
    return "" if ":memory:" in name or "mode=memory" in name else f"{name}-claims"


@cache
def _file(path: str) -> int | None:
    """The open file, once a process: the system gives up all locks of a process when it closes the file once."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) if path else None
    except OSError as error:
        raise OperationalError(f"unable to open {path}: {error.strerror}") from error
