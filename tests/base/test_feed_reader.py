"""The change feed of a serving process: its own commits at once, those of others when they ring, and none skipped."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from agents.base import feed_reader
from agents.base.feed_reader import FeedReader
from agents.base.models.changes import Change, ChangeKind
from agents.base.reading import read
from agents.base.store import changes
from agents.base.store.writer import writer
from tests.support.exchange import Exchange, ExchangeChannel
from tests.support.inprocess import open_database
from tests.support.waiting import until

Record = tuple[int, int]


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        yield


pytestmark = pytest.mark.usefixtures("_database")


class Follower:
    """What one process announced: (number, records, all announced up to)."""

    def __init__(self) -> None:
        self.announced: list[tuple[int, tuple[Record, ...], int]] = []

    def __call__(self, seq: int, records: Sequence[Record], told: int) -> None:
        self.announced.append((seq, tuple(records), told))

    @property
    def keys(self) -> list[int]:
        return [key for _, records, _ in self.announced for _, key in records]


def others_commit(first: int, count: int = 1) -> None:
    """Changes of a process that is not this one: no listener here hears of them."""
    Change.objects.bulk_create(Change(kind=ChangeKind.TURN, key=key) for key in range(first, first + count))


def own_commit(*keys: int) -> None:
    def job() -> None:
        for key in keys:
            changes.note(ChangeKind.TURN, key)

    writer.write(job)


def play(flow: Callable[[Follower, ExchangeChannel, ExchangeChannel], Awaitable[None]]) -> None:
    """Run with a follower, the channel of its process, and that of another one."""

    async def run() -> None:
        exchange = Exchange()
        here, there = exchange.channel("here"), exchange.channel("there")
        follower = Follower()
        await read(own_commit, 0)  # the feed begins with some number
        reader = FeedReader(here, follower)
        await reader.start()
        try:
            await flow(follower, here, there)
        finally:
            await reader.stop()

    asyncio.run(run())


def test_own_commits_are_announced_at_once_and_rung() -> None:
    async def flow(follower: Follower, here: ExchangeChannel, there: ExchangeChannel) -> None:
        rings: list[str] = []
        there.on(feed_reader.TOPIC, lambda sender, body: rings.append(sender))
        await read(own_commit, 1, 2)
        await until(lambda: follower.announced)
        latest = await read(changes.latest)
        assert follower.announced == [(latest, ((ChangeKind.TURN, 1), (ChangeKind.TURN, 2)), latest)]
        await until(lambda: rings)

    play(flow)


def test_many_commits_ring_few_times() -> None:
    async def flow(follower: Follower, here: ExchangeChannel, there: ExchangeChannel) -> None:
        def commit_often() -> None:
            for key in range(200):
                own_commit(key)

        loop = asyncio.get_running_loop()
        began = loop.time()
        await read(commit_often)
        await until(lambda: len(follower.announced) == 200)
        assert len(here.sent) <= 2 + (loop.time() - began) / feed_reader.RING_S

    play(flow)


def test_while_many_others_ring_it_rings_rarely_and_still_rings() -> None:
    async def flow(follower: Follower, here: ExchangeChannel, there: ExchangeChannel) -> None:
        for _ in range(4 * feed_reader.RINGS_PER_S):
            there.send(feed_reader.TOPIC, "")
        await asyncio.sleep(0)

        def commit_for_a_while(until_s: float) -> None:
            while time.monotonic() < until_s:
                own_commit(1)

        began = time.monotonic()
        await read(commit_for_a_while, began + 10 * feed_reader.RING_S)
        assert 1 <= len(here.sent) <= 1 + (time.monotonic() - began) / (2 * feed_reader.RING_S)
        sent = len(here.sent)
        await read(own_commit, 2)
        await until(lambda: len(here.sent) > sent)

    play(flow)


def test_a_ring_makes_it_read_all_that_others_changed() -> None:
    async def flow(follower: Follower, here: ExchangeChannel, there: ExchangeChannel) -> None:
        count = 2 * changes.MAX_ROWS + 1
        await read(others_commit, 1, count)
        there.send(feed_reader.TOPIC, "")
        await until(lambda: len(follower.keys) == count, within_s=feed_reader.CALM_POLL_S)
        assert follower.keys == list(range(1, count + 1))
        assert [seq for seq, *_ in follower.announced] == [told for *_, told in follower.announced]

    play(flow)


def test_without_messages_it_polls() -> None:
    async def flow(follower: Follower, here: ExchangeChannel, there: ExchangeChannel) -> None:
        here.is_cut = True
        there.send(feed_reader.TOPIC, "")
        await read(others_commit, 1)
        await until(lambda: follower.keys == [1])

    play(flow)


def test_an_own_commit_does_not_hide_what_others_changed_before_it() -> None:
    async def flow(follower: Follower, here: ExchangeChannel, there: ExchangeChannel) -> None:
        await read(own_commit, 1)
        await until(lambda: follower.announced)
        first = follower.announced[0][2]
        await read(others_commit, 2)
        await read(own_commit, 3)
        await read(others_commit, 4)
        await until(lambda: len(follower.keys) == 4)
        assert sorted(follower.keys) == [1, 2, 3, 4]
        [own] = [announced for announced in follower.announced if (ChangeKind.TURN, 3) in announced[1]]
        if own[1] == ((ChangeKind.TURN, 3),):  # before the other's was read
            assert own[2] in {first, first + 1}
        assert follower.announced[-1][2] == await read(changes.latest)

    play(flow)
