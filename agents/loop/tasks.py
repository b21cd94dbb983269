"""Runs turns: one task each, in a clean context, which outlives the request that started it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from agents.base import rights
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.base.store import failures
from agents.loop import spending
from agents.loop.cut_calls import InDoubt
from agents.loop.loop import Loop
from agents.loop.recording import RETRY_S, DeltaWriter, Recording
from agents.loop.roles import EVERYTHING, ProcessRole
from agents.loop.run import ClientInput, Run
from agents.loop.slots import Slot, Slots
from agents.loop.spending import ModelNames
from agents.loop.stored_events import Diverged
from agents.record.bus import TurnLog, hub
from agents.record.schemas.events import ErrorInfo, Event, FinalStatus, TurnTakenOver
from agents.record.store import inputs, takeover, turns
from agents.record.store import spending as stored_spending
from agents.record.store.recorder import Superseded, TurnRef

log = logging.getLogger(__name__)

RUN_S = 1800.0
MAX_EARLY = 256
"""Most turns that are remembered because something was sent for them that no run of this process read."""
CONFIRM_S = 0.1
"""How often a process that may have lost its turns looks whether it has."""
STOP_UNSTARTED_S = 60.0
"""How long a stop is remembered for a run that is stored and whose task has not started."""

RunStop = tuple[FinalStatus, str]
"""The final status of a run that is stopped from outside, and the reason."""


class _RunTask:
    """A run and its task. ``resumes`` says whether the turn goes on without this process; None: as the server does."""

    def __init__(self, turn_ref: TurnRef, resumes: bool | None) -> None:
        self.turn_ref, self.resumes = turn_ref, resumes
        self.requested_stop: RunStop | None = None
        self.is_let_go = False
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Note that the task has started. Raises CancelledError where the run was stopped before: a task that
        is cancelled before its start would never store the end of the turn."""
        self._task = asyncio.current_task()
        if self.requested_stop is not None or self.is_let_go:
            raise asyncio.CancelledError

    def let_go(self) -> None:
        """Stop running the turn without ending it: another process goes on with it."""
        self.is_let_go = True
        self.abort()

    def stop(self, reason: RunStop) -> None:
        if self.requested_stop is None:
            self.requested_stop = reason
            self.abort()

    def abort(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def _persistently(write: Callable[[TurnRef], None], turn_ref: TurnRef) -> None:
    """Do a write, retrying while the store is unavailable. Raises Superseded."""
    while True:
        try:
            return await read(write, turn_ref)
        except Exception as error:  # raised again, whatever it is, unless the store is only unavailable
            if failures.classify(error) is None:
                raise
        await asyncio.sleep(RETRY_S)


class Runner:
    """The runs of this process. The key of a run is its turn and the epoch in which this process owns the turn.
    ``is_confirmed`` tells whether no other process can have taken these turns over. ``suspect`` is the turn among
    them, if any, that may be what ended the processes that ran it before. It is ``stopping`` from when it
    is told to, and takes no more runs once it is ``draining``."""

    def __init__(self, owner: str, slots: Slots, role: ProcessRole = EVERYTHING) -> None:
        self.owner, self.slots, self.role = owner, slots, role
        self._delta_writer = DeltaWriter()
        self._runs: dict[tuple[int, int], _RunTask] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stops: dict[tuple[int, int], RunStop] = {}
        self._background_tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self.stopping = self.draining = False
        self.is_confirmed: Callable[[], bool] = lambda: True
        self.suspect: int | None = None
        self.on_input_left: Callable[[], None] = lambda: None
        self._with_input: set[int] = set()
        self._not_run_here: deque[int] = deque(maxlen=MAX_EARLY)
        self._unsubscribe = hub.subscribe(self._on_changes)

    def _on_changes(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        """Note the turns that clients have sent something for; for one that nobody runs it was too late."""
        turns_with_input = [key for kind, key in records if kind == ChangeKind.INPUT]
        if turns_with_input:
            self._with_input.update(turns_with_input)
            self._with_input &= self.running
            if not self.running.issuperset(turns_with_input):
                self._not_run_here += [turn for turn in turns_with_input if turn not in self.running]
                self.on_input_left()

    async def _read_input(self, turn: int, is_told: bool, seen: set[str]) -> ClientInput | None:
        """Read what the client has sent for a turn since it was last read; only if something has come, where this
        process ``is_told`` of it at once. What was ``seen`` need not be stored as taken yet."""
        if is_told and turn not in self._with_input:
            return None
        self._with_input.discard(turn)
        waiting = [message for message in await read(inputs.messages_of, turn) if message.public_id not in seen]
        if not waiting:
            return None
        seen.update(message.public_id for message in waiting)
        return ClientInput([message.message for message in waiting], [message.public_id for message in waiting])

    @property
    def running(self) -> frozenset[int]:
        """The keys of the turns that run."""
        return frozenset(turn for turn, _ in tuple(self._runs))

    @property
    def names(self) -> frozenset[tuple[int, int]]:
        """The keys and epochs of the turns that run, or wait for their slot."""
        return frozenset(tuple(self._runs))

    def start(
        self,
        loop: Loop,
        turn_ref: TurnRef,
        opening: Sequence[Event],
        actor: Actor,
        slot: Slot,
        *,
        queued: bool | None = None,
    ) -> None:
        """Run a response whose first events are stored, for as long as its actor may run, and leave its slot at
        the end. ``queued`` says that the turn is stored as queued (None: as its slot is). Thread-safe; returns at
        once."""
        is_queued = slot.queued if queued is None else queued
        self._loop.call_soon_threadsafe(self._spawn, loop, turn_ref, opening, actor, slot, is_queued)

    def _spawn(
        self, loop: Loop, turn_ref: TurnRef, opening: Sequence[Event], actor: Actor, slot: Slot, is_queued: bool
    ) -> None:
        turn_log = hub.open(turn_ref.turn, opening[0].seq, taken_over=isinstance(opening[0], TurnTakenOver))
        turn_log.append(opening)
        running = self._runs[turn_ref.turn, turn_ref.epoch] = _RunTask(turn_ref, loop.progress.run.resumes)
        running.requested_stop = self._stops.pop((turn_ref.turn, turn_ref.epoch), None)
        # an empty context: a task born in a request would inherit the request's executor, and
        # its first database call after the request's end would leak a thread or fail
        task = self._loop.create_task(
            self._run(running, loop, turn_log, slot, is_queued), context=contextvars.Context()
        )
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, running, turn_log))
        lost = partial(self._stop, (turn_ref.turn, turn_ref.epoch), ("cancelled", rights.REASON))
        watch = rights.watch(actor, lost, is_run=True)
        task.add_done_callback(lambda _: rights.unwatch(watch))
        task.add_done_callback(lambda _: self.slots.leave(slot))

    def _done(self, running: _RunTask, turn_log: TurnLog, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        del self._runs[running.turn_ref.turn, running.turn_ref.epoch]
        if running.turn_ref.turn in self._with_input:
            self._with_input.discard(running.turn_ref.turn)
            self.on_input_left()
        turn_log.finish()
        hub.retire(turn_log)
        if not task.cancelled() and (error := task.exception()):
            log.error("turn=%s: the run broke", running.turn_ref.turn, exc_info=error)

    async def _wait_for_slot(self, slot: Slot) -> None:
        granted = asyncio.Event()
        if not self.slots.when_granted(slot, lambda: self._loop.call_soon_threadsafe(granted.set)):
            await granted.wait()

    async def _run(self, running: _RunTask, loop: Loop, turn_log: TurnLog, slot: Slot, is_queued: bool) -> None:
        turn_ref = running.turn_ref
        recording = Recording(turn_ref, turn_log, self._delta_writer, running.abort)
        loop.progress.wait_until_stored = partial(self._wait_until_stored, recording)
        # what a client has said over the socket of another process is stored before word of it comes here
        is_told = not (loop.run.is_steerable and loop.run.stored_events)
        loop.progress.read_input = partial(self._read_input, turn_ref.turn, is_told, set())
        loop.progress.check_budgets = partial(self._check_budgets, recording, loop.run)
        if loop.run.resume is not None or loop.run.stored_events or turn_ref.turn in self._not_run_here:
            self._with_input.add(turn_ref.turn)  # nobody has read what came before
        try:
            running.begin()
            await self._wait_for_slot(slot)
            if is_queued:
                await self._begin(turn_ref)
            await self._work(loop, recording)
        except asyncio.CancelledError:
            if not running.is_let_go:
                status, reason = running.requested_stop or ("interrupted", "the server stopped")
                self._close(loop, recording, status, reason)
        except Superseded as lost:
            recording.give_up(lost)
        except InDoubt:
            await self._flush(recording)  # the events that say so come first
            await self._wait_for_decision(turn_ref)
        except Diverged as reason:
            log.warning("turn=%s: cannot go on where it was: %s", turn_ref.turn, reason)
            error = ErrorInfo(type="not_resumable", message=f"The server stopped, and cannot go on: {reason}")
            self._close(loop, recording, "interrupted", "the server stopped", error)
        except Exception:
            # a bug ends this turn, not the server
            log.exception("turn=%s: the loop broke", turn_ref.turn)
            error = ErrorInfo(type="server_error", message="The server made a mistake; see its log.")
            self._close(loop, recording, "failed", None, error)
        await self._flush(recording)

    async def _wait_until_stored(self, recording: Recording) -> None:
        """Wait until all is stored, and no other process can have taken the turn over: an effect is to follow."""
        await recording.flush()
        while not self.is_confirmed():  # noqa: ASYNC110 - another thread confirms it, by a beat of its own
            await asyncio.sleep(CONFIRM_S)

    @staticmethod
    async def _check_budgets(recording: Recording, run: Run) -> ErrorInfo | None:
        """Return why the turn may not ask its model again, if so; what it has spent is stored first."""
        if run.budget is None and stored_spending.is_idle():
            return None
        await recording.flush()
        return await read(spending.turn_refusal, run.turn, ModelNames(run.inference_model, run.model), run.budget)

    @staticmethod
    async def _begin(turn_ref: TurnRef) -> None:
        """Mark a queued turn as running. Raises Superseded."""
        await _persistently(turns.mark_running, turn_ref)

    @staticmethod
    async def _wait_for_decision(turn_ref: TurnRef) -> None:
        """Let a turn wait for somebody to decide about its cut calls: no process runs it meanwhile."""
        with suppress(Superseded):
            await _persistently(takeover.doubt, turn_ref)

    async def _work(self, loop: Loop, recording: Recording) -> None:
        try:
            async with asyncio.timeout(RUN_S):
                async for output in loop.outputs():
                    recording.add(output)
                    if recording.must_wait:
                        await recording.flush()
        except TimeoutError:
            error = ErrorInfo(type="timeout", message=f"The turn did not end within {RUN_S:g} s.")
            self._close(loop, recording, "failed", None, error)

    @staticmethod
    def _close(
        loop: Loop, recording: Recording, status: FinalStatus, reason: str | None, error: ErrorInfo | None = None
    ) -> None:
        if not recording.failed:
            for event in loop.close(status, reason=reason, error=error):
                recording.add(event)

    @staticmethod
    async def _flush(recording: Recording) -> None:
        """Wait for the last commit and its publication, also when the task is cancelled meanwhile."""
        settling = asyncio.ensure_future(recording.flush())
        while not settling.done():
            try:
                await asyncio.shield(settling)
            except asyncio.CancelledError:
                continue

    def run_in_background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run work that belongs to no turn in a task of its own. Thread-safe; returns at once. When the server
        stops, the task has as much time as a run."""
        self._loop.call_soon_threadsafe(self._spawn_background, work)

    def _spawn_background(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = self._loop.create_task(work(), context=contextvars.Context())
        self._background_tasks.add(task)
        task.add_done_callback(self._background_tasks.discard)

    # ------------------------------------------------------------------------------------- stopping

    def cancel(self, turn: int, epoch: int, reason: str) -> None:
        """Stop a run of this process, also one that is stored and has not started. Thread-safe; returns at once:
        the run has stopped when its response is over."""
        self._loop.call_soon_threadsafe(self._stop, (turn, epoch), ("cancelled", reason))

    def _stop(self, name: tuple[int, int], how: RunStop) -> None:
        running = self._runs.get(name)
        if running is not None:
            running.stop(how)
            return
        self._stops[name] = how
        self._loop.call_later(STOP_UNSTARTED_S, self._stops.pop, name, None)  # it may be over already

    def let_go(self) -> None:
        """Stop all runs without ending their turns: this process counts as gone, or hands them over. Thread-safe."""
        self._loop.call_soon_threadsafe(self._let_go)

    def let_go_of(self, turn: int, epoch: int) -> None:
        """Stop one run without ending its turn. Thread-safe."""
        self._loop.call_soon_threadsafe(self._let_go_of, (turn, epoch))

    def _let_go_of(self, name: tuple[int, int]) -> None:
        if running := self._runs.get(name):
            running.let_go()

    def _let_go(self) -> None:
        for running in list(self._runs.values()):
            running.let_go()

    async def drain(self, seconds: float, *, hands_over: bool = False) -> None:
        """Take no more runs, wait for the running ones, and after ``seconds`` let the others go to other processes,
        or interrupt them: as ``hands_over`` says, or their agents."""
        self.draining = True
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)
        for name, running in list(self._runs.items()):
            if hands_over if running.resumes is None else running.resumes:
                running.let_go()
            else:
                self._stop(name, ("interrupted", "the server stopped"))
        self._unsubscribe()
        for task in self._background_tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=10)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """All running tasks."""
        return [*self._tasks, *self._background_tasks]
