"""One writer: every write of a server process goes through one thread, in groups.

A job is a function that writes. Jobs that wait together are committed together, so that the price
of a durable commit (an fsync) is shared; the caller's future is resolved only after the commit.
When one job of a group fails, the group is rolled back and its jobs run again one by one; one that
conflicted with another process's transaction (a deadlock, a serialisation failure) is retried: a job
must therefore have no effect but on the database.

Callers take turns (`shares.caller`), and a group is committed after `MAX_GROUP_S`: small writes do not wait
for the whole backlog of another caller.

Outside a server (commands, tests) there is no thread: jobs run at once, in the caller's own
connection.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from django.db import close_old_connections, connection, transaction
from django.db.utils import DatabaseError, InterfaceError, OperationalError

from agents.base import loop_calls, metrics, shares
from agents.base.shares import Caller, FairQueue
from agents.base.store import changes, failures, scopes, terms
from agents.base.store.busy_timeout import lock_timeout
from agents.base.store.changes import ChangeBatch
from agents.base.store.cursors import held

log = logging.getLogger(__name__)

MAX_JOBS = 256
"""Most jobs of one commit."""
MAX_GROUP_S = 0.05
"""When the jobs of a group have taken this long, they are committed, and the others follow later."""
CHECKPOINT_BYTES = 32 * 1024 * 1024
"""Size of SQLite's log at which the writer itself folds it into the file: steady readers starve
the automatic checkpoint."""

CONFLICT_STATES = frozenset({"40001", "40P01"})
"""PostgreSQL's codes of conflicting transactions: serialisation failure, deadlock."""
MAX_TRIES, MAX_RETRY_DELAY_S = 10, 0.05
"""How often a conflicting job is tried, and how long it waits at most before the next try."""

TRIED_AFTER_S = 0.1
"""A connection to PostgreSQL that was not used for this long is looked at first: where it has died meanwhile, by a
restart of the server for one, that costs no write."""
HELD_PERIOD_S, SHORT_TIMEOUT_S = 5.0, 0.5
"""After the store was found locked, writes wait only this long for the lock, for that period."""

last_writes: list[LastWrites] = []
"""What is written at the end of every transaction, in this order, before the change feed."""

T = TypeVar("T")
Job = tuple[Callable[[], Any], "Future[Any]", Caller]


class LastWrites(Protocol):
    """Writes that jobs note and that are done together at the end of their transaction. Rows that several processes
    write to are then locked in one order and for a moment: whichever jobs are committed together, they do not wait
    for each other in a circle."""

    def flush(self) -> None:
        """Write what was noted in this thread."""
        ...

    def forget(self) -> None:
        """Drop what was noted: the transaction was rolled back."""
        ...


class _JobQueue:
    """The queue of jobs; thread-safe."""

    def __init__(self) -> None:
        self._queue: FairQueue[Job] = FairQueue()
        self._changed = threading.Condition()
        self._closed = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._queue)

    def put(self, job: Job) -> None:
        with self._changed:
            self._queue.put(job[2], job)
            self._changed.notify()

    def put_back(self, jobs: Sequence[Job]) -> None:
        """Put back jobs that were taken, as the next ones."""
        with self._changed:
            for job in reversed(jobs):
                self._queue.put_back(job[2], job)

    def close(self, closed: bool = True) -> None:
        """Close the queue, or open it again."""
        with self._changed:
            self._closed = closed
            self._changed.notify()

    def wait(self) -> list[Job] | None:
        """Wait for the next jobs, and return them; None once the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed)
            return self._take() or None

    def take(self) -> list[Job]:
        """Return the next jobs without waiting."""
        with self._changed:
            return self._take()

    def _take(self) -> list[Job]:
        group: list[Job] = []
        while self._queue and len(group) < MAX_JOBS:
            group.append(self._queue.take())
        return group


_one_at_a_time = threading.RLock()
"""Held by a thread that writes without the writer thread: what a transaction interns and the changes that it notes are
kept for the whole process, and another's must not be committed with them before they are."""


class Writer:
    """The writer thread. `start` it once a process; `stop` finishes what is queued."""

    def __init__(self) -> None:
        self._jobs = _JobQueue()
        self._thread: threading.Thread | None = None
        self.commits = 0
        self.last_commit_s = 0.0
        self._used_at = float("-inf")

    @property
    def running(self) -> bool:
        return self._thread is not None

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for their commit."""
        return len(self._jobs)

    def start(self) -> None:
        self._jobs.close(False)
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 30.0) -> None:
        if self._thread is None:
            return
        self._jobs.close()
        self._thread.join(timeout_s)
        self._thread = None

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Queue a job; the future has its result after the commit, or its error."""
        future: Future[T] = Future()
        if self._thread is None or threading.current_thread() is self._thread:
            _run_inline(job, future)
        else:
            self._jobs.put((job, future, shares.caller.get()))
        return future

    def write(self, job: Callable[[], T]) -> T:
        """Run a job and wait for its commit. For sync code only: it blocks its thread."""
        return self.submit(job).result()

    def _work(self) -> None:
        while (group := self._jobs.wait()) is not None:
            self._commit(group)
            del group  # frees its memory: the next job may come much later
        connection.close()

    def _commit(self, group: list[Job]) -> None:
        began = time.perf_counter()
        if time.monotonic() - self._used_at > TRIED_AFTER_S:
            _drop_dead_connection()
        try:
            with _wait_limit():
                results, batch = _run_together([job for job, *_ in group], MAX_TRIES if len(group) == 1 else 1)
        except Exception as error:  # noqa: BLE001 - whatever a job raises belongs to its caller
            _recover(error)
            if len(group) == 1 or _affects_all(error):
                self._refuse(group, error)
            else:
                for job in group:
                    self._commit([job])
            return
        finally:
            self._used_at = time.monotonic()
        self.commits += 1
        self.last_commit_s = time.perf_counter() - began
        metrics.count_commit(len(results), self.last_commit_s)
        self._jobs.put_back(group[len(results) :])
        with loop_calls.gathered():
            changes.notify(batch)
            for (_, future, _), result in zip(group, results, strict=False):
                future.set_result(result)
        _checkpoint()

    def _refuse(self, group: list[Job], error: Exception) -> None:
        """Fail a group, and all queued jobs where the store takes no writes at all: each of them would wait for the
        timeout again."""
        while group:
            for _, future, _ in group:
                future.set_exception(error)
            group = self._jobs.take() if _affects_all(error) else []


def _drop_dead_connection() -> None:
    if connection.vendor == "postgresql" and connection.connection is not None and not connection.is_usable():
        connection.close()


def _wait_limit() -> AbstractContextManager[None]:
    """Shorten the wait for the write lock while another process holds it for long: only the first waits in full."""
    held = failures.failure_log.recent(HELD_PERIOD_S) is failures.HELD
    return lock_timeout(SHORT_TIMEOUT_S) if held else nullcontext()


def _affects_all(error: BaseException) -> bool:
    """Tell whether the store itself has failed, so that other jobs would fail as well."""
    failure = failures.classify(error)
    return failure is not None and not failure.single_statement


def _run_together(jobs: list[Callable[[], Any]], tries: int) -> tuple[list[Any], ChangeBatch | None]:
    """Run jobs in one transaction, only the first ones if they take long; return their results, and what they changed.
    Conflicts with other processes are retried, up to ``tries`` in all."""
    for _ in range(tries - 1):
        try:
            return _transact(jobs)
        except DatabaseError as error:
            if not is_conflict(error) or connection.in_atomic_block:
                raise
            _reset_caches()
            time.sleep(random.uniform(0, MAX_RETRY_DELAY_S))  # noqa: S311 - so that they do not meet again
    return _transact(jobs)


def is_conflict(error: BaseException) -> bool:
    """Tell whether a transaction failed only because of another one: it may be run again."""
    return getattr(error.__cause__, "sqlstate", None) in CONFLICT_STATES


def _transact(jobs: list[Callable[[], Any]]) -> tuple[list[Any], ChangeBatch | None]:
    deadline = time.monotonic() + MAX_GROUP_S
    results = []
    with held(), transaction.atomic():
        for job in jobs:
            results.append(job())
            if time.monotonic() > deadline:
                break
        for writes in last_writes:
            writes.flush()
        batch = changes.flush()
    return results, batch


def _reset_caches() -> None:
    """Drop cached rows and noted changes of a failed transaction: they were rolled back."""
    for module in (changes, terms, scopes):
        module.forget()
    for writes in last_writes:
        writes.forget()


def _recover(error: BaseException) -> None:
    """Reset the caches, and drop a dead connection."""
    _reset_caches()
    if failures.unavailable(error, "a write") is not None:
        close_old_connections()
    elif isinstance(error, OperationalError | InterfaceError):  # it may have spoilt the connection all the same
        log.warning("a write failed: %s", error)
        close_old_connections()


def _run_inline(job: Callable[[], Any], future: Future[Any]) -> None:
    try:
        with _one_at_a_time:
            [result], batch = _run_together([job], MAX_TRIES)
            changes.notify(batch)
            future.set_result(result)
    except Exception as error:  # noqa: BLE001 - handed to the caller, as the thread does
        _reset_caches()
        future.set_exception(error)


def _checkpoint() -> None:
    """Fold SQLite's write-ahead log into the file when it has grown, without waiting for readers."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return
    try:
        size = os.stat(f"{connection.settings_dict['NAME']}-wal").st_size
    except OSError:
        return
    if size > CHECKPOINT_BYTES:
        _fold()


def _fold() -> None:
    """Checkpoint SQLite's log. A failure loses nothing: the log holds all commits, and the next try may succeed."""
    try:
        with lock_timeout(0.2), connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except DatabaseError as error:
        if failures.unavailable(error, "the log") is None:
            log.warning("the log could not be folded in: %s", error)


writer = Writer()
"""The process's writer."""
