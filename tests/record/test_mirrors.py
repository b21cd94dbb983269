"""Readers of a turn that another process runs: they get all of it, token by token where messages get through."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from agents.base.reading import read
from agents.base.store import keys
from agents.base.store.writer import writer
from agents.loop.recording import DeltaWriter, Recording
from agents.record import live
from agents.record import mirrors as mirroring
from agents.record.bus import Hub, hub
from agents.record.mirrors import mirrors
from agents.record.schemas.events import START, Cursor, Delta, Entry, position
from agents.record.sharing import FRAMES_TOPIC, WATCH_TOPIC, LogSharing
from agents.record.store import replay
from tests.loop.test_loop import tool
from tests.support.builders import Recorded, make_turn
from tests.support.depth import deep
from tests.support.exchange import Exchange, ExchangeChannel
from tests.support.inprocess import open_database
from tests.support.waiting import until

SCRIPT = f"""think Hm, hm.
say Let me look, \u00fc\U0001f600.
call lookup {{"query": "{"x" * 9_000}"}}
then
repeat 300 word
say the end."""


@pytest.fixture
def _database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with open_database(django_db_blocker):
        yield


pytestmark = pytest.mark.usefixtures("_database")


class Owner:
    """Another process, which runs a turn: its hub, its channel and what it records."""

    def __init__(self, exchange: Exchange, made: Recorded) -> None:
        self.hub = Hub()
        self.channel = exchange.channel("owner")
        self._sharing = LogSharing(self.channel, self.hub)
        self._sharing.start()
        self.hub.start()
        self.entries = made.entries
        self.log = self.hub.open(made.turn, 0)
        self.log.append(made.entries[:1])
        self._recording = Recording(made.leg, self.log, DeltaWriter(), stop=lambda: pytest.fail("it stops"))
        self._done = 1

    @property
    def frames_sent(self) -> int:
        return sum(topic == FRAMES_TOPIC for topic, *_ in self.channel.sent)

    def go_on(self, count: int) -> None:
        """Let the next entries happen."""
        for entry in self.entries[self._done : self._done + count]:
            self._recording.add([entry] if isinstance(entry, Delta) else entry)
        self._done = min(self._done + count, len(self.entries))

    @property
    def is_over(self) -> bool:
        return self._done >= len(self.entries)

    async def flush(self) -> None:
        await self._recording.flush()

    def stop(self) -> None:
        self._sharing.stop()
        self.hub.stop()


async def read_all(turn: int, after: Cursor = START, into: list[Entry] | None = None) -> list[Entry]:
    entries = [] if into is None else into
    async with aclosing(live.follow(turn, after)) as batches:
        async for batch in batches:
            entries += batch
    return entries


def play(flow: Callable[[Owner, ExchangeChannel, int], Awaitable[None]], script: str = SCRIPT) -> None:
    """Run with a turn that another process has begun; the channel is that of the readers' process."""
    made = make_turn(keys.local(), script, server_tools=tool(), upto=1)

    async def run() -> None:
        exchange = Exchange()
        owner, here = Owner(exchange, made), exchange.channel("here")
        hub.start()
        mirrors.start(here)
        try:
            await asyncio.wait_for(flow(owner, here, made.turn), 60)
        finally:
            mirrors.stop()
            hub.stop()
            owner.stop()

    writer.start()
    try:
        asyncio.run(run())
    finally:
        writer.stop()


def first_deltas(entries: Sequence[Entry]) -> int:
    """How many entries there are up to the second delta."""
    return [number for number, entry in enumerate(entries) if isinstance(entry, Delta)][1] + 1


def test_tokens_come_before_they_are_stored_and_all_readers_share_them() -> None:
    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        seen: list[list[Entry]] = [[] for _ in range(5)]
        readers = [asyncio.create_task(read_all(turn, into=into)) for into in seen]
        count = first_deltas(owner.entries)
        owner.go_on(count - 2)
        await owner.flush()
        await until(lambda: all(len(into) == count - 1 for into in seen))
        owner.go_on(1)
        await until(lambda: all(len(into) == count for into in seen))
        assert isinstance(seen[0][-1], Delta)
        assert position(seen[0][-1]) not in [position(entry) for entry in await read(replay.load, turn)]
        assert sum(topic == WATCH_TOPIC for topic, *_ in here.sent) == 1

        owner.go_on(len(owner.entries))
        await owner.flush()
        assert await asyncio.gather(*readers) == [list(owner.entries)] * 5

    play(flow)


def test_of_a_turn_that_nobody_watches_nothing_is_sent() -> None:
    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        owner.go_on(len(owner.entries))
        await owner.flush()
        assert await read_all(turn) == list(owner.entries)
        assert owner.channel.sent == []
        assert here.sent == []

    play(flow)


def test_a_lost_message_is_healed() -> None:
    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        seen: list[Entry] = []
        reader = asyncio.create_task(read_all(turn, into=seen))
        count = first_deltas(owner.entries)
        owner.go_on(count - 2)
        await owner.flush()
        # the store may give the entries before it is told who watches
        await until(lambda: len(seen) == count - 1 and owner.frames_sent)
        here.is_cut = True
        frames_sent = owner.frames_sent
        owner.go_on(1)
        await until(lambda: owner.frames_sent > frames_sent)
        here.is_cut = False
        owner.go_on(3)
        await until(lambda: len(seen) == count + 3)
        owner.go_on(len(owner.entries))
        await owner.flush()
        assert await reader == list(owner.entries)

    play(flow)


def test_without_messages_the_store_is_polled() -> None:
    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        here.is_cut = True
        seen: list[Entry] = []
        reader = asyncio.create_task(read_all(turn, into=seen))
        count = first_deltas(owner.entries)
        owner.go_on(count - 1)
        await owner.flush()
        await until(lambda: len(seen) == count, within_s=2)
        owner.go_on(len(owner.entries))
        await owner.flush()
        assert await reader == list(owner.entries)
        assert owner.frames_sent == 0

    play(flow)


def test_where_messages_get_lost_it_polls_within_a_second() -> None:
    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        seen: list[Entry] = []
        reader = asyncio.create_task(read_all(turn, into=seen))
        await until(lambda: owner.frames_sent)
        owner.channel.is_cut = True  # the readers' process does not know
        owner.go_on(first_deltas(owner.entries) - 1)
        await owner.flush()
        await until(lambda: len(seen) == first_deltas(owner.entries), mirroring.SILENCE_S + mirroring.POLL_S)
        owner.go_on(len(owner.entries))
        await owner.flush()
        assert await reader == list(owner.entries)

    play(flow)


def test_a_process_that_runs_the_turn_no_more_ends_no_reader_early() -> None:
    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        seen: list[Entry] = []
        reader = asyncio.create_task(read_all(turn, into=seen))
        owner.go_on(first_deltas(owner.entries) - 1)
        await owner.flush()
        await until(lambda: len(seen) == first_deltas(owner.entries))
        owner.log.finish()
        owner.hub._drop(owner.log)
        owner.go_on(len(owner.entries))
        await owner.flush()
        assert await reader == list(owner.entries)

    play(flow)


@pytest.mark.parametrize("seed", range(deep(12, 400)))
def test_whatever_is_lost_and_whoever_comes_when_each_gets_all(seed: int) -> None:
    choose = random.Random(seed)

    async def flow(owner: Owner, here: ExchangeChannel, turn: int) -> None:
        readers: list[tuple[int, asyncio.Task[list[Entry]]]] = []

        def come() -> None:
            place = choose.randrange(owner._done)
            after = position(owner.entries[place])
            if choose.random() < 0.3:
                place, after = -1, START
            readers.append((place, asyncio.create_task(read_all(turn, after))))

        while not owner.is_over:
            if choose.random() < 0.3:
                come()
            if readers and choose.random() < 0.1:
                readers.pop()[1].cancel()
            if choose.random() < 0.2:
                choose.choice([here, owner.channel]).is_cut = choose.random() < 0.5
            owner.go_on(choose.choice([1, 2, 10, 80]))
            if choose.random() < 0.5:
                await owner.flush()
            else:
                await asyncio.sleep(choose.choice([0, 0, 0.01, 0.03]))
        await owner.flush()
        come()
        for place, reader in readers:
            assert await reader == list(owner.entries[place + 1 :])

    play(flow)
