"""The change feed on PostgreSQL while transactions commit in any order, late or not at all: no reader skips one."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from tests.support.depth import deep
from tests.support.inprocess import open_database

WAIT_S = 30.0


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        if connection.vendor != "postgresql":
            pytest.skip("on SQLite transactions that write follow each other")
        yield


pytestmark = pytest.mark.usefixtures("_database")


class Actor:
    """Work in a thread and a connection of its own, which goes on by one statement whenever it is told to."""

    def __init__(self, threads: ThreadPoolExecutor, work: Callable[[Actor], None]) -> None:
        self._may_go, self._stands = threading.Semaphore(0), threading.Semaphore(0)
        self._free = False
        self.over = False
        self._done = threads.submit(self._run, work)
        assert self._stands.acquire(timeout=WAIT_S)

    def _run(self, work: Callable[[Actor], None]) -> None:
        try:
            connection.ensure_connection()
            with connection.execute_wrapper(self._pause_before):
                self.pause()
                work(self)
        finally:
            connection.close()
            self.over = True
            self._stands.release()

    def _pause_before(self, execute: Callable[..., Any], *given: Any) -> Any:
        self.pause()
        return execute(*given)

    def pause(self) -> None:
        """In its thread: wait until it is told to go on."""
        if not self._free:
            self._stands.release()
            assert self._may_go.acquire(timeout=WAIT_S)

    def step(self) -> None:
        """Let it go on to its next statement, or to its end."""
        self._may_go.release()
        assert self._stands.acquire(timeout=WAIT_S)

    def finish(self) -> None:
        """Let it go on to its end. Raises what it raised."""
        self._free = True
        self._may_go.release()
        self._done.result(WAIT_S)


class GivenUp(Exception):
    """A transaction fails after its last statement."""


def commits(*keys: int, fails: bool = False, times: int = 1) -> Callable[[Actor], None]:
    """A transaction with changes of these records, which flushes them so many times in all."""

    def work(actor: Actor) -> None:
        with suppress(GivenUp), transaction.atomic():
            for first in range(0, len(keys), -(-len(keys) // times)):
                for key in keys[first : first + -(-len(keys) // times)]:
                    changes.note(ChangeKind.TURN, key)
                changes.flush()
            actor.pause()
            if fails:
                raise GivenUp

    return work


def keys_of(batch: changes.ChangeBatch | None) -> list[int]:
    return [key for _, key in batch.records] if batch else []


def until_it_commits(actor: Actor) -> Actor:
    """Bring a transaction to where it has only its commit before it: the lock, the rows, the commit."""
    for _ in range(3):
        actor.step()
    assert not actor.over
    return actor


def test_what_commits_late_is_not_skipped() -> None:
    with ThreadPoolExecutor(2) as threads:
        start = changes.latest()
        late = until_it_commits(Actor(threads, commits(1, 2)))
        quick = Actor(threads, commits(3))
        quick.finish()
        assert changes.after(start) is None
        assert changes.latest() == start
        assert changes.is_held_up(start)
        late.finish()
        read = changes.after(start)
        assert keys_of(read) == [1, 2, 3]
        assert read is not None
        assert read.seq == changes.latest()
        assert not changes.is_held_up(read.seq)


def test_what_fails_holds_nobody_up_any_more() -> None:
    with ThreadPoolExecutor(2) as threads:
        start = changes.latest()
        fails = until_it_commits(Actor(threads, commits(1, fails=True)))
        Actor(threads, commits(2)).finish()
        assert changes.after(start) is None
        fails.finish()
        assert keys_of(changes.after(start)) == [2]


def test_a_transaction_that_has_not_come_to_its_changes_holds_nobody_up() -> None:
    with ThreadPoolExecutor(2) as threads:
        start = changes.latest()

        def work(actor: Actor) -> None:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_current_xact_id()")  # it writes
                actor.pause()
                commits(1)(actor)

        long = Actor(threads, work)
        long.step()
        long.step()
        Actor(threads, commits(2)).finish()
        read = changes.after(start)
        assert keys_of(read) == [2]
        assert read is not None
        long.finish()
        assert keys_of(changes.after(read.seq)) == [1]


@pytest.mark.parametrize("statements", range(4))
def test_who_looks_while_others_take_numbers_sees_no_further_than_all_have_come(statements: int) -> None:
    with ThreadPoolExecutor(3) as threads:
        start = changes.latest()
        seen: list[int] = []
        looks = Actor(threads, lambda actor: seen.append(changes.latest()))
        for _ in range(statements):
            looks.step()
        late = until_it_commits(Actor(threads, commits(1)))
        Actor(threads, commits(2)).finish()
        if not looks.over:
            looks.finish()
        assert seen == [start]
        late.finish()


def test_own_changes_are_read_within_their_transaction() -> None:
    start = changes.latest()
    with transaction.atomic():
        changes.note(ChangeKind.TURN, 1)
        changes.flush()
        assert keys_of(changes.after(start)) == [1]
        assert changes.latest() > start


@pytest.mark.parametrize("seed", range(deep(12, 2_000)))
def test_in_whatever_order_statements_come_no_reader_skips_a_change(seed: int) -> None:
    """Two readers follow, from the beginning and from wherever the feed stands when they come, while transactions
    take numbers, commit and fail; each statement of each is a step of its own."""
    choose = random.Random(seed)
    with ThreadPoolExecutor(6) as threads:
        start = changes.latest()
        read: list[int] = []
        later_read: list[int] = []
        seen_at_start: set[int] = set()
        committed: set[int] = set()
        keys = iter(range(1, 1000))

        def follow(actor: Actor, seq: int, into: list[int], rounds: int) -> None:
            for _ in range(rounds):
                batch = changes.after(seq, limit=choose.choice([2, 1000]))
                if batch:
                    seq = batch.seq
                    into += keys_of(batch)

        def come_later(actor: Actor) -> None:
            seq = changes.latest()
            seen_at_start.update(keys_of(_all_after(start, seq)))
            follow(actor, seq, later_read, 12)
            into_end.append(seq)

        into_end: list[int] = []
        actors = [Actor(threads, lambda actor: follow(actor, start, read, 15)), Actor(threads, come_later)]
        readers = list(actors)
        while any(not reader.over for reader in readers):
            if len([actor for actor in actors if not actor.over]) < 6 and choose.random() < 0.5:
                chosen = [next(keys) for _ in range(choose.choice([1, 1, 3]))]
                fails = choose.random() < 0.25
                committed.update([] if fails else chosen)
                actors.append(Actor(threads, commits(*chosen, fails=fails, times=choose.choice([1, 2]))))
            choose.choice([actor for actor in actors if not actor.over]).step()
        for actor in actors:
            actor.finish()
        # what the readers had not come to
        read += keys_of(_all_after(changes_seq(start, read), None))
        later_read += keys_of(_all_after(changes_seq(into_end[0], later_read), None))
        assert sorted(read) == sorted(committed)
        assert sorted([*later_read, *seen_at_start]) == sorted(committed)


def changes_seq(start: int, read: list[int]) -> int:
    """The number up to which a reader has read that began at ``start``."""
    numbers = [number for number, _, key in changes._rows_after(start, 10_000) if key in set(read)]
    return max(numbers, default=start)


def _all_after(seq: int, upto: int | None) -> changes.ChangeBatch | None:
    rows = [row for row in changes._rows_after(seq, 10_000) if upto is None or row[0] <= upto]
    return changes.ChangeBatch(0, tuple((kind, key) for _, kind, key in rows), ()) if rows else None


def test_writers_and_readers_at_once() -> None:
    """The same without steps: as fast as they can."""
    writers, each = 4, deep(60, 2_000)
    with ThreadPoolExecutor(writers + 1) as threads:
        start = changes.latest()

        def write(number: int) -> None:
            try:
                for key in range(number * each, number * each + each):
                    with suppress(GivenUp), transaction.atomic():
                        changes.note(ChangeKind.TURN, key)
                        changes.flush()
                        if key % 7 == 0:
                            raise GivenUp
            finally:
                connection.close()

        running = [threads.submit(write, number) for number in range(writers)]
        read: list[int] = []
        seq = start
        while True:
            are_over = all(writing.done() for writing in running)
            batch = changes.after(seq, limit=50)
            if batch:
                read += keys_of(batch)
                seq = batch.seq
            elif are_over:
                break
        for writing in running:
            writing.result()
    assert sorted(read) == [key for key in range(writers * each) if key % 7]
