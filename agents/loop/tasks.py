"""Running runs: one task each, in a clean context, outliving the request that began it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from agents.base import rights
from agents.base.access import Actor
from agents.base.reading import read
from agents.base.store import failures
from agents.loop.loop import Loop
from agents.loop.recording import AGAIN_S, DeltaKeeper, Recording
from agents.loop.slots import Slot, Slots
from agents.record.bus import TurnLog, hub
from agents.record.schemas.events import ErrorInfo, Event, FinalStatus
from agents.record.store import turns
from agents.record.store.recorder import Superseded, TurnRef

log = logging.getLogger(__name__)

RUN_S = 1800.0
UNBEGUN_S = 60.0
"""How long a stop waits for a run that is stored and has not begun yet."""

Stop = tuple[FinalStatus, str]
"""How a run ends that is stopped from outside, and why."""


class _Running:
    """A run that is on its way."""

    def __init__(self, leg: TurnRef) -> None:
        self.leg = leg
        self.stopped: Stop | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The task is at work. Raises CancelledError where the run was stopped before: a task that is
        cancelled earlier would end without a word."""
        self._task = asyncio.current_task()
        if self.stopped is not None:
            raise asyncio.CancelledError

    def stop(self, how: Stop) -> None:
        if self.stopped is None:
            self.stopped = how
            self.abort()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()


class Runner:
    """The runs of this process. One is known by its turn and the epoch in which the turn is its own."""

    def __init__(self, owner: str, slots: Slots) -> None:
        self.owner, self.slots = owner, slots
        self._keeper = DeltaKeeper()
        self._runs: dict[tuple[int, int], _Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stops: dict[tuple[int, int], Stop] = {}
        self._apart: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self.draining = False

    @property
    def running(self) -> frozenset[int]:
        """The turns of these runs."""
        return frozenset(turn for turn, _ in tuple(self._runs))

    def start(self, loop: Loop, leg: TurnRef, opening: Sequence[Event], actor: Actor, slot: Slot) -> None:
        """Run a leg whose first events are stored, for as long as its actor may run, and leave its slot then.
        From any thread; returns at once."""
        self._loop.call_soon_threadsafe(self._spawn, loop, leg, opening, actor, slot)

    def _spawn(self, loop: Loop, leg: TurnRef, opening: Sequence[Event], actor: Actor, slot: Slot) -> None:
        turn_log = hub.open(leg.turn, opening[0].seq)
        turn_log.append(opening)
        running = self._runs[leg.turn, leg.epoch] = _Running(leg)
        running.stopped = self._stops.pop((leg.turn, leg.epoch), None)
        # an empty context: a task born in a request would inherit the request's executor, and
        # its first database call after the request's end would leak a thread or fail
        task = self._loop.create_task(self._run(running, loop, turn_log, slot), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, running, turn_log))
        lost = partial(self._stop, (leg.turn, leg.epoch), ("cancelled", rights.REASON))
        held = rights.watch(actor, lost, is_run=True)
        task.add_done_callback(lambda _: rights.unwatch(held))
        task.add_done_callback(lambda _: self.slots.leave(slot))

    def _done(self, running: _Running, turn_log: TurnLog, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        del self._runs[running.leg.turn, running.leg.epoch]
        turn_log.finish()
        hub.retire(turn_log)
        if not task.cancelled() and (error := task.exception()):
            log.error("turn=%s: the run broke", running.leg.turn, exc_info=error)

    async def _granted(self, slot: Slot) -> None:
        granted = asyncio.Event()
        if not self.slots.when_granted(slot, lambda: self._loop.call_soon_threadsafe(granted.set)):
            await granted.wait()

    async def _run(self, running: _Running, loop: Loop, turn_log: TurnLog, slot: Slot) -> None:
        leg = running.leg
        recording = Recording(leg, turn_log, self._keeper, running.abort)
        loop.progress.stored = recording.settle
        try:
            running.begin()
            await self._granted(slot)
            if slot.queued:
                await self._begin(leg)
            await self._work(loop, recording)
        except asyncio.CancelledError:
            status, reason = running.stopped or ("interrupted", "the server stopped")
            self._close(loop, recording, status, reason)
        except Superseded as lost:
            recording.give_up(lost)
        except Exception:
            # the runner's edge: a mistake of ours ends this turn, not the server
            log.exception("turn=%s: the loop broke", leg.turn)
            error = ErrorInfo(type="server_error", message="The server made a mistake; see its log.")
            self._close(loop, recording, "failed", None, error)
        await self._settle(recording)

    @staticmethod
    async def _begin(leg: TurnRef) -> None:
        """Say that a queued turn runs, as soon as the store takes it. Raises Superseded."""
        while True:
            try:
                return await read(turns.mark_running, leg)
            except Exception as error:
                if failures.classify(error) is None:
                    raise
            await asyncio.sleep(AGAIN_S)

    async def _work(self, loop: Loop, recording: Recording) -> None:
        try:
            async with asyncio.timeout(RUN_S):
                async for entry in loop.events():
                    recording.take(entry)
                    if recording.is_behind:
                        await recording.settle()
        except TimeoutError:
            error = ErrorInfo(type="timeout", message=f"The turn did not end within {RUN_S:g} s.")
            self._close(loop, recording, "failed", None, error)

    @staticmethod
    def _close(
        loop: Loop, recording: Recording, status: FinalStatus, reason: str | None, error: ErrorInfo | None = None
    ) -> None:
        if not recording.failed:
            for event in loop.close(status, reason=reason, error=error):
                recording.take(event)

    @staticmethod
    async def _settle(recording: Recording) -> None:
        """The last commit and its publication are one unit: being cancelled does not split it."""
        settling = asyncio.ensure_future(recording.settle())
        while not settling.done():
            try:
                await asyncio.shield(settling)
            except asyncio.CancelledError:
                continue

    def apart(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do what belongs to no turn, in a task of its own. From any thread; returns at once. When the server
        stops it has as long as a run."""
        self._loop.call_soon_threadsafe(self._spawn_apart, work)

    def _spawn_apart(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._loop.create_task(work(), context=contextvars.Context())
        self._apart.add(task)
        task.add_done_callback(self._apart.discard)

    # ------------------------------------------------------------------------------------- stopping

    def cancel(self, turn: int, epoch: int, reason: str) -> None:
        """Stop a run of this process, also one that is stored and has not begun. From any thread; returns at
        once: the run has stopped when its leg is over."""
        self._loop.call_soon_threadsafe(self._stop, (turn, epoch), ("cancelled", reason))

    def _stop(self, name: tuple[int, int], how: Stop) -> None:
        running = self._runs.get(name)
        if running is not None:
            running.stop(how)
            return
        self._stops[name] = how
        self._loop.call_later(UNBEGUN_S, self._stops.pop, name, None)  # it may be over already

    async def drain(self, seconds: float) -> None:
        """Take no more runs, let the running ones end, interrupt what is left after a while."""
        self.draining = True
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)
        for name in list(self._runs):
            self._stop(name, ("interrupted", "the server stopped"))
        for task in self._apart:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=10)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """What is under way."""
        return [*self._tasks, *self._apart]
