"""Requests that race for one turn, in an order that a number chooses.

Each request is one operation in a thread of its own, with a connection of its own. It stops behind every
statement it sends outside a transaction, and goes on when it is its turn: whose turn it is, the number says.
So what it read may be old when it writes. What the writer, the runs and their tools do meanwhile happens by
itself, as in a server; two services with a runner each stand for two processes on one store.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from django.db import connection, connections

from agents.base.store.writer import writer
from agents.loop.protocols.tools import Repeat, ServerToolGroup, ToolContext, ToolResult
from agents.loop.remote_stops import RemoteStops
from agents.loop.service import Service
from agents.loop.slots import Slots
from agents.loop.tasks import Runner
from agents.record.bus import hub
from agents.record.schemas.content import ToolDef
from agentsite import providers
from tests.support.exchange import Exchange
from tests.support.inprocess import close_readers

T = TypeVar("T")
Operation = Callable[[], Any]

GROUP = "tests"
WAIT_S = 20.0


@dataclass
class Outcome:
    """What became of an operation: its value or its error, and when (`time.monotonic_ns`)."""

    name: str
    value: Any = None
    error: Exception | None = None
    at_ns: int = 0


_here = threading.local()


class _Racer:
    """One operation, which goes on a step at a time. It ``waits`` while it can go on only when others have."""

    def __init__(self, name: str, operation: Operation) -> None:
        self.outcome = Outcome(name)
        self.over = self.waits = self.free = False
        self._operation = operation
        self._go, self._stands = threading.Semaphore(0), threading.Semaphore(0)

    def run(self) -> None:
        """In its own thread: the whole operation."""
        _here.racer = self
        self._go.acquire()
        try:
            with connection.execute_wrapper(self._gate):
                self.outcome.value = self._operation()
        except Exception as error:  # noqa: BLE001 - every outcome is looked at by the test
            self.outcome.error = error
        self.outcome.at_ns = time.monotonic_ns()
        self.over = True
        self._stands.release()

    def _gate(self, execute: Callable[..., Any], *given: Any) -> Any:
        done = execute(*given)
        if not connection.in_atomic_block and not self.free:
            self._stands.release()
            self._go.acquire()
        return done

    def wait(self, work: Callable[[], T]) -> T:
        """In its own thread: what may need the others to go on."""
        self.waits = True
        self._stands.release()
        try:
            return work()
        finally:
            self.waits = False
            self._go.acquire()

    def step(self) -> None:
        """In the judge's thread: let it go on to its next statement, or to its end."""
        self._go.release()
        assert self._stands.acquire(timeout=WAIT_S), f"{self.outcome.name} stands still"

    def let_go(self) -> None:
        """Let it run to its end."""
        self.free = True
        self._go.release(1000)


@dataclass
class Course:
    """The place of the races: services over one store, and when their tool was started, by turn."""

    services: Sequence[Service]
    started: dict[str, list[int]]
    _loop: asyncio.AbstractEventLoop
    _threads: ThreadPoolExecutor

    def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        racer: _Racer | None = getattr(_here, "racer", None)
        return racer.wait(partial(future.result, WAIT_S)) if racer else future.result(WAIT_S)

    def race(self, operations: dict[str, Operation], seed: int) -> dict[str, Outcome]:
        """Run operations in the order of a number, and what they began to its end."""
        choose = random.Random(seed)
        racers = [_Racer(name, operation) for name, operation in operations.items()]
        runs = [self._threads.submit(racer.run) for racer in racers]
        try:
            while going := [racer for racer in racers if not racer.over]:
                choose.choice([racer for racer in going if not racer.waits] or going).step()
        finally:
            for racer, run in zip(racers, runs, strict=True):
                racer.let_go()
                run.result(WAIT_S)
        self.on_loop(self._quiet())
        return {racer.outcome.name: racer.outcome for racer in racers}

    async def _quiet(self) -> None:
        async with asyncio.timeout(WAIT_S):
            while tasks := [task for service in self.services for task in service.runner.tasks]:
                await asyncio.wait(tasks)


_NOTE = ToolDef(name="note", description="Take a note.", input_schema={"type": "object"})


@dataclass(frozen=True)
class _Note:
    """A tool that tells when it was started, by turn."""

    started: dict[str, list[int]]
    group: str = GROUP
    definition: ToolDef = _NOTE
    repeat: Repeat = "write"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        self.started.setdefault(context.turn_id, []).append(time.monotonic_ns())
        return ToolResult("noted")


@contextmanager
def course() -> Iterator[Course]:
    """Two services with a loop and a writer, over the open database of the tests."""
    started: dict[str, list[int]] = {}

    async def begin() -> list[Runner]:
        hub.start()
        return [Runner(f"process {number}", Slots(64, 64)) for number in (1, 2)]

    async def remote_stops(runners: Sequence[Runner]) -> list[RemoteStops]:
        exchange = Exchange()
        return [RemoteStops(exchange.channel(runner.owner), runner.cancel) for runner in runners]

    with _loop() as loop, ThreadPoolExecutor(8, thread_name_prefix="racer") as threads:
        writer.start()
        runners = asyncio.run_coroutine_threadsafe(begin(), loop).result(WAIT_S)
        have = providers.configured_providers(providers.configured_endpoints(), pace=0.0)
        have = replace(have, tools={**have.tools, GROUP: ServerToolGroup(GROUP, tools=[_Note(started)])})
        try:
            stops = asyncio.run_coroutine_threadsafe(remote_stops(runners), loop).result(WAIT_S)
            services = [Service(runner, have, stop) for runner, stop in zip(runners, stops, strict=True)]
            yield Course(services, started, loop, threads)
        finally:
            loop.call_soon_threadsafe(hub.stop)
            writer.stop()
            for wait in [threads.submit(_leave, barrier) for barrier in [threading.Barrier(8)] * 8]:
                wait.result(WAIT_S)
            close_readers()


def _leave(together: threading.Barrier) -> None:
    """Close a thread's connection; all wait for each other, so that each thread has one of these."""
    connections.close_all()
    together.wait(WAIT_S)


@contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="loop")
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(WAIT_S)
        loop.close()
