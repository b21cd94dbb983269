"""Readers of a turn over random schedules: processes that run it die, are paused or hand it over, messages between them
are late or lost, the turn waits for its client and goes on elsewhere, readers come and go at any moment. Whatever
happens, each reader gets each event once, in order, all that is stored of what was typed, and the end.

The hubs, the mirrors and what is sent between them are real; the store is a model of what its statements do, whose
answers are as old as they come late. Time is virtual.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.base.messaging.channel import EVERYONE
from agents.base.models.changes import ChangeKind
from agents.record.bus import Hub, TurnLog
from agents.record.live import Followers
from agents.record.mirrors import Mirrors
from agents.record.models.choices import TurnStatus
from agents.record.schemas.content import CompletionMessage
from agents.record.schemas.events import (
    START,
    Cursor,
    Delta,
    Entry,
    Event,
    InferenceDetail,
    StepEnded,
    StepStarted,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnTakenOver,
    position,
)
from agents.record.sharing import LogSharing
from tests.support.depth import deep
from tests.support.exchange import Exchange, ExchangeChannel
from tests.support.virtual_time import VirtualTimeLoop

TURN, STEP = 1, 1 << 40
SAID = CompletionMessage(content="Done.", stop_reason="end_of_turn")
LATEST_S = 7.0
"""How long after the turn's end the last reader must have it: where messages are lost and nobody knows, a turn that
waits for its client is looked at every five seconds."""


class LossyExchange(Exchange):
    """Messages that arrive late, in the order of their sender, or never."""

    def __init__(self, choose: random.Random, lost: float) -> None:
        super().__init__()
        self._choose, self._lost = choose, lost
        self._due: dict[tuple[str, str], float] = {}

    def deliver(self, sender: str, topic: str, body: str, to: str) -> None:
        loop = asyncio.get_running_loop()
        for process, channel in self._channels.items():
            if process != sender and to in (EVERYONE, process) and self._choose.random() >= self._lost:
                late = loop.time() + self._choose.choice((0.0, 0.001, 0.01, 0.3))
                due = self._due[sender, process] = max(self._due.get((sender, process), 0.0), late)
                loop.call_at(due, _hand_over, channel, (sender, topic, body))


def _hand_over(channel: ExchangeChannel, message: tuple[str, str, str]) -> None:
    if not channel.is_cut:
        channel.take(*message)


@dataclass
class Store:
    """The store of one turn. Each answer is what was true when it was asked for, and comes later."""

    choose: random.Random
    events: list[Event] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    status: TurnStatus = TurnStatus.IN_PROGRESS

    def entries(self, after: Cursor = START) -> list[Entry]:
        """All that is stored after a cursor, in order."""
        stored: list[Entry] = [*self.events, *self.deltas]
        return sorted((entry for entry in stored if position(entry) > after), key=position)

    async def window(self, turn: int, after: Cursor) -> Sequence[Entry]:
        found = self.entries(after)[: self.choose.choice((3, 1_000))]
        await self._pass()
        return found

    async def state(self, turn: int) -> tuple[TurnStatus, int] | None:
        found = self.status, len(self.events)
        await self._pass()
        return found

    async def _pass(self) -> None:
        await asyncio.sleep(self.choose.choice((0.0, 0.001, 0.02)))


class Process:
    """A process that may run the turn."""

    def __init__(self, exchange: Exchange, name: str) -> None:
        self.hub, self.channel = Hub(), exchange.channel(name)
        self._sharing = LogSharing(self.channel, self.hub)
        self._sharing.start()
        self.hub.start()

    def stop(self) -> None:
        self.channel.is_cut = True
        self._sharing.stop()
        self.hub.stop()


class Schedule:
    """One turn from its beginning to its end, and its readers in the process ``here``."""

    def __init__(self, choose: random.Random) -> None:
        self.choose, self.store = choose, Store(choose)
        self.exchange = LossyExchange(choose, choose.choice((0.0, 0.0, 0.2, 1.0)))
        self.here = Process(self.exchange, "here")
        self.mirrors = Mirrors(self.here.hub, self.store)
        self.others = [Process(self.exchange, f"process {number}") for number in range(2)]
        self.started = 2
        self.readers: list[tuple[Cursor, asyncio.Task[list[Entry]]]] = []
        self._steps = STEP
        self._background: set[asyncio.Task[None]] = set()
        self._unstored: list[Delta] = []
        self.taken = 0

    async def play(self) -> None:
        """Play it. Raises AssertionError where a reader did not get what it should have."""
        loop = asyncio.get_running_loop()
        self.mirrors.start(self.here.channel)
        coming = loop.create_task(self._come_and_go())
        try:
            await self._run()
            coming.cancel()
            self._come()
            await asyncio.wait([task for _, task in self.readers], timeout=LATEST_S)
            self._check()
        finally:
            coming.cancel()
            for task in [*self._background, *(task for _, task in self.readers)]:
                task.cancel()
            self.mirrors.stop()
            for process in [self.here, *self.others]:
                process.stop()

    # ------------------------------------------------------------------------------------- the turn

    async def _run(self) -> None:
        log = self._begin(self.choose.choice([self.here, *self.others]))
        await self._commit(log, TurnStarted(seq=0, at=0, model="m", input_messages=[]))
        for _ in range(self.choose.randint(1, 4)):
            log = await self._step(log)
            if self.choose.random() < 0.3:
                log = await self._wait_for_client(log)
        await self._commit(log, TurnEnded(seq=self._seq, at=0, status="completed"), TurnStatus.COMPLETED)
        self._retire(log)

    @property
    def _seq(self) -> int:
        return len(self.store.events)

    def _begin(self, process: Process, *, taken_over: bool = False) -> TurnLog:
        self.owner = process
        return process.hub.open(TURN, self._seq, taken_over=taken_over)

    def _retire(self, log: TurnLog) -> None:
        log.finish()
        self.owner.hub.retire(log)

    async def _step(self, log: TurnLog) -> TurnLog:
        """An inference, in whose middle its process may be lost."""
        self._steps += 1
        step = self._steps
        started = StepStarted(seq=self._seq, at=0, step=step, number=0, round=0, step_type="inference", name="m")
        await self._commit(log, started)
        count, lost_at = self.choose.randint(0, 30), self.choose.choice((-1, -1, 0, 5, 20))
        for ordinal in range(1, count + 1):
            delta = Delta(step, "text", ordinal - 1, "x", after=self._seq - 1, ordinal=ordinal)
            log.append_deltas([delta])
            self._unstored.append(delta)
            await asyncio.sleep(self.choose.choice((0.0, 0.001, 0.01, 0.2)))
            if self.choose.random() < 0.2:
                self._store_deltas(log)
            if ordinal == lost_at:
                log = await self._lose(log, step, ordinal)
                await self._end_step(log, step, "interrupted")
                return log
        await self._end_step(log, step, "completed")
        return log

    async def _end_step(self, log: TurnLog, step: int, status: Any) -> None:
        detail = InferenceDetail(model_response=SAID, model="m")
        ended = StepEnded(
            seq=self._seq, at=0, step=step, step_type="inference", name="m", status=status, started_at=0, detail=detail
        )
        await self._commit(log, ended)

    async def _lose(self, log: TurnLog, step: int, ordinal: int) -> TurnLog:
        """The process dies, or stands still while another takes the turn over, and types on then."""
        self._unstored.clear()
        process, old_seq = self.owner, self._seq
        if process in self.others and self.choose.random() < 0.7:
            process.stop()
            self.started += 1
            self.others[self.others.index(process)] = Process(self.exchange, f"process {self.started}")
        else:
            self._spawn(self._type_on(log, step, old_seq - 1, ordinal))
        await asyncio.sleep(self.choose.choice((0.05, 0.5, 3.0)))
        taking = self.choose.choice([one for one in [self.here, *self.others] if one is not process])
        log = self._begin(taking, taken_over=True)
        await self._commit(log, TurnTakenOver(seq=old_seq, at=0, by="another", cause="lost", idle_us=0))
        return log

    async def _type_on(self, log: TurnLog, step: int, after: int, ordinal: int) -> None:
        """What a process still says that has lost its turn, and does not know it yet."""
        await asyncio.sleep(self.choose.choice((0.0, 0.1, 1.0)))
        for number in range(ordinal + 1, ordinal + 5):
            log.append_deltas([Delta(step, "text", number - 1, "x", after=after, ordinal=number)])
            await asyncio.sleep(0.02)
        log.finish()

    async def _wait_for_client(self, log: TurnLog) -> TurnLog:
        """The turn waits, and goes on in any process."""
        awaiting = TurnAwaiting(seq=self._seq, at=0, output_message=SAID, iterations=1)
        await self._commit(log, awaiting, TurnStatus.AWAITING_INPUT)
        self._retire(log)
        await asyncio.sleep(self.choose.choice((0.0, 0.01, 1.0, 12.0)))
        log = self._begin(self.choose.choice([self.here, *self.others]))
        resumed = TurnResumed(seq=self._seq, at=0, leg=2, tool_responses=[])
        await self._commit(log, resumed, TurnStatus.IN_PROGRESS)
        return log

    async def _commit(self, log: TurnLog, event: Event, status: TurnStatus | None = None) -> None:
        """Store an event with what was typed before it, and tell of it."""
        await asyncio.sleep(self.choose.choice((0.0, 0.002, 0.03)))
        self._store_deltas(log)
        self.store.events.append(event)
        self.store.status = status or self.store.status
        seq, late = len(self.store.events), self.choose.choice((0.0, 0.05, None))
        if late is not None:  # else this is lost too
            self._spawn(self._announce(seq, late))
        await asyncio.sleep(self.choose.choice((0.0, 0.002)))
        log.append([event])
        log.mark_stored((event.seq, 0))

    def _store_deltas(self, log: TurnLog) -> None:
        self.store.deltas += self._unstored
        if self._unstored:
            log.mark_stored(position(self._unstored[-1]))
        self._unstored.clear()

    async def _announce(self, seq: int, late_s: float) -> None:
        await asyncio.sleep(late_s)
        self.here.hub.notify(seq, [(ChangeKind.TURN, TURN)])

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # ------------------------------------------------------------------------------------ the readers

    async def _come_and_go(self) -> None:
        while True:
            await asyncio.sleep(self.choose.choice((0.0, 0.01, 0.1, 0.5)))
            if self.choose.random() < 0.5 and len(self.readers) < 8:
                self._come()
            elif self.readers and self.choose.random() < 0.3:
                self.readers.pop(self.choose.randrange(len(self.readers)))[1].cancel()
            if self.choose.random() < 0.05:
                process = self.choose.choice([self.here, *self.others])
                process.channel.is_cut = not process.channel.is_cut

    def _come(self) -> None:
        stored = [START, *map(position, self.store.entries())]
        after = self.choose.choice(stored) if self.choose.random() < 0.5 else START
        reading = asyncio.get_running_loop().create_task(self._read(after))
        self.readers.append((after, reading))

    async def _read(self, after: Cursor) -> list[Entry]:
        entries: list[Entry] = []
        limit, willing = self.choose.choice((1, 256)), self.choose.choice((0.0, 0.5, 1.0))

        def take(deltas: Sequence[Delta]) -> bool:
            takes = self.choose.random() < willing
            entries.extend(deltas if takes else ())
            self.taken += takes
            return takes

        async with aclosing(Followers(self.mirrors).follow(TURN, after, limit=limit, take=take)) as batches:
            async for batch in batches:
                entries += batch
        return entries

    def _check(self) -> None:
        for after, task in self.readers:
            assert task.done(), f"a reader from {after} does not end"
            got = task.result()
            cursors = [position(entry) for entry in got]
            assert all(before < later for before, later in zip([after, *cursors], cursors, strict=False)), cursors
            assert [entry for entry in got if not isinstance(entry, Delta)] == [
                event for event in self.store.events if position(event) > after
            ]
            assert set(map(position, self.store.entries(after))) <= set(cursors)


def _check(seed: int, count: int) -> None:
    choose = random.Random(seed)

    async def play() -> None:
        taken = 0
        for number in range(count):
            schedule = Schedule(random.Random(choose.random()))
            try:
                await schedule.play()
            except AssertionError as error:
                error.add_note(f"schedule {number} of seed {seed}")
                raise
            taken += schedule.taken
        assert taken, "no reader has taken anything while it waited"

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(play())


@pytest.mark.parametrize("seed", range(4))
def test_each_reader_gets_all_of_it_once(seed: int) -> None:
    _check(seed, 50)


@pytest.mark.slow
@pytest.mark.timeout(deep(900, 7200))
@pytest.mark.parametrize("seed", range(100, 104))
def test_so_it_is_over_very_many_schedules(seed: int) -> None:
    _check(seed, deep(500, 25_000))
