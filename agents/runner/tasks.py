"""Running runs: one task each, in a clean context, outliving the request that began it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from agents.bus import TurnLog, hub
from agents.live import read
from agents.runner.recording import DeltaKeeper, Recording
from agents.runtime.loop import Loop
from agents.schemas.events import ErrorInfo, Event, FinalStatus
from agents.store import turns
from agents.store.recorder import Leg

log = logging.getLogger(__name__)

RUN_S = 1800.0


class Runner:
    """The runs of this process."""

    def __init__(self, owner: str, max_running: int) -> None:
        self.owner = owner
        self._slots = asyncio.Semaphore(max_running)
        self._keeper = DeltaKeeper()
        self._max_running = max_running
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._stops: dict[int, tuple[FinalStatus, str]] = {}
        self._apart: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self.draining = False

    @property
    def is_full(self) -> bool:
        """Whether a run that starts now has to wait for a place."""
        return len(self._tasks) >= self._max_running

    @property
    def running(self) -> frozenset[int]:
        return frozenset(self._tasks)

    def start(self, loop: Loop, leg: Leg, opening: Sequence[Event], *, queued: bool = False) -> None:
        """Run a leg whose first events are stored. From any thread; returns at once."""
        self._loop.call_soon_threadsafe(self._spawn, loop, leg, opening, queued)

    def _spawn(self, loop: Loop, leg: Leg, opening: Sequence[Event], queued: bool) -> None:
        turn_log = hub.open(leg.turn, opening[0].seq)
        turn_log.append(opening)
        # an empty context: a task born in a request would inherit the request's executor, and
        # its first database call after the request's end would leak a thread or fail
        task = self._loop.create_task(self._run(loop, leg, turn_log, queued), context=contextvars.Context())
        self._tasks[leg.turn] = task
        task.add_done_callback(partial(self._done, leg.turn, turn_log))

    def _done(self, turn: int, turn_log: TurnLog, task: asyncio.Task[None]) -> None:
        self._tasks.pop(turn, None)
        self._stops.pop(turn, None)
        turn_log.finish()
        hub.retire(turn_log)
        if not task.cancelled() and (error := task.exception()):
            log.error("turn=%s: the run broke", turn, exc_info=error)

    async def _run(self, loop: Loop, leg: Leg, turn_log: TurnLog, queued: bool) -> None:
        recording = Recording(leg, turn_log, self._keeper)
        try:
            async with self._slots:
                if queued:
                    await read(turns.mark_running, leg.turn)
                await self._work(loop, recording)
        except asyncio.CancelledError:
            status, reason = self._stops.get(leg.turn, ("interrupted", "the server stopped"))
            self._close(loop, recording, status, reason)
        except Exception:
            if recording.failed:
                return
            # the runner's edge: a mistake of ours ends this turn, not the server
            log.exception("turn=%s: the loop broke", leg.turn)
            error = ErrorInfo(type="server_error", message="The server made a mistake; see its log.")
            self._close(loop, recording, "failed", None, error)
        await self._settle(recording)

    async def _work(self, loop: Loop, recording: Recording) -> None:
        try:
            async with asyncio.timeout(RUN_S):
                async for entry in loop.events():
                    recording.take(entry)
        except TimeoutError:
            error = ErrorInfo(type="timeout", message=f"The turn did not end within {RUN_S:g} s.")
            self._close(loop, recording, "failed", None, error)

    @staticmethod
    def _close(
        loop: Loop, recording: Recording, status: FinalStatus, reason: str | None, error: ErrorInfo | None = None
    ) -> None:
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

    def cancel(self, turn: int, reason: str) -> bool:
        """Stop a run (any thread); False when this process does not run it."""
        if turn not in self._tasks:
            return False
        self._loop.call_soon_threadsafe(self._stop, turn, "cancelled", reason)
        return True

    def _stop(self, turn: int, status: FinalStatus, reason: str) -> None:
        task = self._tasks.get(turn)
        if task is not None and turn not in self._stops:
            self._stops[turn] = status, reason
            task.cancel()

    async def drain(self, seconds: float) -> None:
        """Take no more runs, let the running ones end, interrupt what is left after a while."""
        self.draining = True
        if self._all:
            await asyncio.wait(self._all, timeout=seconds)
        for turn in list(self._tasks):
            self._stop(turn, "interrupted", "the server stopped")
        for task in self._apart:
            task.cancel()
        if self._all:
            await asyncio.wait(self._all, timeout=10)

    @property
    def _all(self) -> list[asyncio.Task[None]]:
        return [*self._tasks.values(), *self._apart]
