"""The serving processes of a database: which of them live, and which are gone.

On PostgreSQL each process counts up the ``beat`` of its row and holds an advisory lock for as long as its connection
lives. A process is gone when its beat stands still: for ``lease_s``, or only for `GRACE_S` when the lock is free too,
which the server frees at once when a process dies. Nobody compares clocks: each observer measures with its own
monotonic clock, and counts only the time in which it could look.

A SQLite file has one serving process, which holds a lock of the operating system on it; every other one is gone.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import close_old_connections, connection, transaction

from agents.base import ids
from agents.base.models.processes import Process
from agents.base.store import failures
from agents.base.timestamps import to_datetime

log = logging.getLogger(__name__)

BEAT_S = 0.75
"""How often a process shows that it lives, and looks whether the others do."""
GRACE_S = 1.4
"""How long the beat of a process whose lock is free stands still before it counts as gone: it may connect again."""
LONGEST_GAP_S = 4.0
"""An observer that has not looked for longer than this (it was paused, or could not) begins to count anew."""
KEPT_S = 7 * 86_400
"""How long the rows of ended processes are kept."""

_LOCK_CLASS = 0x61676E70
"""First half of the advisory locks of processes; the second half is made of the id."""


class AlreadyServed(Exception):
    """Another process serves this SQLite file."""


@dataclass(frozen=True, slots=True)
class SignOfLife:
    """What the table shows of a process: its beat; whether it holds its lock; and whether the server that it took the
    lock from is still the same one, so that a free lock means something."""

    process: str
    beat: int
    holds_lock: bool
    same_server: bool


class Observer:
    """Decides which processes are gone, from what was seen of them and when. Knows no database. The beat of a process
    stands still for ``lease_s`` before it counts as gone. It should look again after ``wait_s``, when the next one may
    be."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._seen: dict[str, tuple[int, float]] = {}
        self._looked_at = float("-inf")
        self.wait_s = BEAT_S

    def look(self, now_s: float, signs: Iterable[SignOfLife]) -> list[SignOfLife]:
        """Note what is seen at a time of the monotonic clock; return those that are gone."""
        blind = now_s - self._looked_at > LONGEST_GAP_S
        self._looked_at = now_s
        seen, gone, self.wait_s = {}, [], BEAT_S
        for sign in signs:
            beat, since = self._seen.get(sign.process, (None, now_s))
            if blind or beat != sign.beat:
                since = now_s
            seen[sign.process] = sign.beat, since
            limit = self._lease_s if sign.holds_lock or not sign.same_server else GRACE_S
            if now_s - since >= limit:
                gone.append(sign)
            elif since < now_s:  # one that has just shown life will do so again
                self.wait_s = min(self.wait_s, limit - (now_s - since))
        self._seen = seen
        return gone


def _lock_number(process: str) -> int:
    """Return the second half of a process's advisory lock: a number of 31 bits."""
    return int(process[:8], 16) & 0x7FFFFFFF


class ServingProcess:
    """The row of this process, and its watch over the others. ``on_lost`` is called with the id that the others have
    taken for gone, from a thread of its own; the process then has a new one. ``on_gone`` is called there, too, when
    this process has found others gone. ``pulse`` has to be called by the event loop: a process whose loop stands still
    shows no life."""

    def __init__(
        self,
        on_lost: Callable[[str], None],
        on_gone: Callable[[], None],
        lease_s: float,
        *,
        address: str = "",
        version: str = "",
    ) -> None:
        self.id = _new_id()
        self._on_lost, self._on_gone, self._lease_s = on_lost, on_gone, lease_s
        self._address, self._version = address, version
        self._observer = Observer(lease_s)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._file: int | None = None
        self._locked_on: Any = None
        self._pulse_at = time.monotonic()
        self._confirmed_at = float("-inf")

    @property
    def is_confirmed(self) -> bool:
        """Whether no other process can have taken this one for gone: it showed a moment ago that it lives. Asked
        before each effect outside; who is not confirmed, because it was paused or cut off, waits for its next beat."""
        return connection.vendor == "sqlite" or time.monotonic() - self._confirmed_at < GRACE_S

    @property
    def name(self) -> str:
        """How people know it: by its host and process id."""
        return process_name()

    def start(self) -> None:
        """Add the row, and take the lock. Blocking. Raises AlreadyServed, and errors of the database."""
        if connection.vendor == "sqlite":
            self._file = _lock_file()
        self._register()
        if connection.vendor == "sqlite":
            _end(Process.objects.filter(ended_at=None).exclude(pk=self.id))
            return
        self._thread = threading.Thread(target=self._beat_and_look, name="process", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Mark this process as ended: what it still ran, others may take over. It keeps a SQLite file to its very
        end. Blocking."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2 * BEAT_S)
        with suppress(Exception):  # the others notice it without that, only later
            _end(Process.objects.filter(pk=self.id), stopped=True)

    def pulse(self) -> None:
        """Note that the event loop runs."""
        self._pulse_at = time.monotonic()

    def _register(self) -> None:
        now = ids.now_us()
        with transaction.atomic():
            Process.objects.filter(ended_at__lt=to_datetime(now - KEPT_S * 1_000_000)).delete()
            Process.objects.create(
                id=self.id,
                host=socket.gethostname()[:255],
                pid=os.getpid(),
                address=self._address[:255],
                version=self._version[:64],
                started_at=to_datetime(now),
            )

    # ------------------------------------------------------------------------------------- PostgreSQL

    def _beat_and_look(self) -> None:
        while not self._stopping.is_set():
            try:
                self._round()
            except Exception as error:  # logged: without this thread the others take the process for gone
                if failures.unavailable(error, "signs of life") is None:
                    log.exception("the signs of life of processes could not be read")
                connection.close()
            self._stopping.wait(self._observer.wait_s)
        connection.close()

    def _round(self) -> None:
        close_old_connections()
        if time.monotonic() - self._pulse_at < self._lease_s and not self._beat():
            lost, self.id = self.id, _new_id()
            self._locked_on = None
            log.warning("others took this process for gone: what it ran goes on elsewhere, or here anew")
            self._register()
            self._beat()
            self._on_lost(lost)
        gone = [sign for sign in self._observer.look(time.monotonic(), _signs(self.id)) if declare_gone(sign)]
        for sign in gone:
            log.warning("process %s shows no life: others go on with what it ran", sign.process)
        if gone:
            self._on_gone()

    def _beat(self) -> bool:
        """Count up the beat, and lock this process's number where this connection has not; returns False when the
        process counts as gone."""
        began = time.monotonic()
        if self._locked_on is not connection.connection or connection.connection is None:
            self._locked_on = connection.connection if _lock(self.id) else None
        if not _count_up(self.id):
            return False
        self._confirmed_at = began
        return True


def _new_id() -> str:
    return secrets.token_hex(8)


def process_name() -> str:
    """Return how people know this process: its host and process id."""
    return f"{socket.gethostname()[:200]} ({os.getpid()})"


_HOLDS = """
EXISTS (
    SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.classid = %s AND l.objid = (('x' || substr(p.id, 1, 8))::bit(32)::bigint & 2147483647)
)
"""
_SIGNS = f"""
SELECT p.id, p.beat, {_HOLDS}, p.server_started = pg_postmaster_start_time()::text
FROM agents_process p WHERE p.ended_at IS NULL AND p.id <> %s
"""  # noqa: S608 - constants of ours


def _lock(process: str) -> bool:
    """Take the advisory lock of a process for as long as this connection lives, and note of which start of the server
    it is; returns False while an earlier connection still holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK_CLASS, _lock_number(process)])
        (held,) = cursor.fetchone()
        started = "pg_postmaster_start_time()::text" if held else "''"
        cursor.execute(f"UPDATE agents_process SET server_started = {started} WHERE id = %s", [process])  # noqa: S608 - constants
    return bool(held)


def _count_up(process: str) -> bool:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")  # a beat that a crash takes back is no loss
        cursor.execute("UPDATE agents_process SET beat = beat + 1 WHERE id = %s AND ended_at IS NULL", [process])
        return bool(cursor.rowcount)


def _signs(own: str) -> list[SignOfLife]:
    """Return the signs of life of the other processes."""
    with connection.cursor() as cursor:
        cursor.execute(_SIGNS, [_LOCK_CLASS, own])
        return [SignOfLife(*row) for row in cursor.fetchall()]


def living(processes: Iterable[str]) -> frozenset[str]:
    """Return those of these processes that have not ended, as far as the table tells."""
    rows = Process.objects.filter(pk__in=set(processes), ended_at=None)
    return frozenset(rows.values_list("pk", flat=True))


def count_living() -> int:
    """Return how many serving processes there are, as far as the table tells."""
    return Process.objects.filter(ended_at=None).count()


def declare_gone(sign: SignOfLife) -> bool:
    """End a process that shows no life, unless its beat has gone on since."""
    return bool(_end(Process.objects.filter(pk=sign.process, beat=sign.beat, ended_at=None)))


def _end(rows: Any, *, stopped: bool = False) -> int:
    ended: int = rows.update(ended_at=to_datetime(ids.now_us()), stopped=stopped)
    return ended


# ---------------------------------------------------------------------------------------------- SQLite


def _lock_file() -> int | None:
    """Lock the SQLite file for this process, by a file beside it; None for a database in memory. Raises
    AlreadyServed."""
    name = str(connection.settings_dict["NAME"])
    if name == ":memory:" or "mode=memory" in name:
        return None
    file = os.open(f"{name}-serving", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(file, 32, 0).decode(errors="replace").strip()
        os.close(file)
        message = f"Process {holder or 'unknown'} serves this SQLite file: it can have one."
        raise AlreadyServed(f"{message} Several share a PostgreSQL (DATABASE_URL).") from None
    os.ftruncate(file, 0)
    os.pwrite(file, str(os.getpid()).encode(), 0)
    return file
