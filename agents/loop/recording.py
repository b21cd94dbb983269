"""A run's way into the store and the live log.

What the loop yields goes two ways. Events go to the writer, and from there, once committed, into
the turn's live log. Deltas go into the log at once, unless an event before them still waits for
its commit, and every quarter of a second to the writer, so that a crash loses no more than that.

A write that fails is tried again for as long as the store is away. One that is refused, because the
turn has passed into other hands, ends the run at once: it has no say any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from agents.base.store import failures
from agents.base.store.writer import writer
from agents.record.bus import TurnLog
from agents.record.schemas.events import Cursor, Delta, Entry, ErrorInfo, Event, position
from agents.record.store import closing, recorder
from agents.record.store.recorder import Superseded, TurnRef

log = logging.getLogger(__name__)

KEEP_DELTAS_S = 0.25
MOST_UNSTORED = 8192
"""Entries of a run that wait for the store: with more than these it goes on only when they are there."""
AGAIN_S = 1.0
WRITE_TRIES = 3
AWAY_TRIES = 600
"""How often a write is tried, a second apart: what the store refuses, and while the store is away."""


def tries_of(error: BaseException) -> int:
    """How often a write that fails so is tried."""
    return AWAY_TRIES if failures.classify(error) else WRITE_TRIES


@dataclass(eq=False, slots=True)
class _Batch:
    """What of a run is written together: ``last`` is where a reader stands that has seen it."""

    events: Sequence[Event]
    deltas: Sequence[Delta]
    last: Cursor
    stored: bool = False


class DeltaKeeper:
    """Stores what all runs have typed, four times a second, in one job and one commit."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._typing: set[Recording] = set()
        self._timer: asyncio.TimerHandle | None = None

    def note(self, recording: Recording) -> None:
        """A run has deltas that are not stored."""
        self._typing.add(recording)
        if self._timer is None:
            self._timer = self._loop.call_later(KEEP_DELTAS_S, self._keep)

    def drop(self, recording: Recording) -> None:
        """They go with its events."""
        self._typing.discard(recording)

    def _keep(self) -> None:
        self._timer = None
        typing, self._typing = list(self._typing), set()
        handed = [(recording, recording.hand_over()) for recording in typing]
        batches = [(recording, batch) for recording, batch in handed if batch is not None]
        if batches:
            self._submit(batches, 1)

    def _submit(self, batches: Sequence[tuple[Recording, _Batch]], tried: int) -> None:
        typed = [(recording.leg, batch.deltas) for recording, batch in batches]
        future = writer.submit(partial(recorder.record_deltas, typed))
        done = partial(self._done, batches, tried)
        future.add_done_callback(lambda kept: self._loop.call_soon_threadsafe(done, kept))

    def _done(self, batches: Sequence[tuple[Recording, _Batch]], tried: int, kept: Future[frozenset[int]]) -> None:
        error = kept.exception()
        if error is not None and tried < tries_of(error):
            if not failures.classify(error):  # of that the writer tells
                log.warning("what %d runs typed could not be stored, trying again: %s", len(batches), error)
            self._loop.call_later(AGAIN_S, self._submit, batches, tried + 1)
            return
        lost = frozenset() if error is not None else kept.result()
        for recording, batch in batches:
            recording.handed_over(batch, Superseded(recording.leg.turn) if recording.leg.turn in lost else error)


class Recording:
    """One run's way into the store and the live log, in order. ``stop`` ends the run when it can be
    recorded no more; ``failed`` says so."""

    def __init__(self, leg: TurnRef, turn_log: TurnLog, keeper: DeltaKeeper, stop: Callable[[], object]) -> None:
        self.leg, self.log, self._keeper, self._stop = leg, turn_log, keeper, stop
        self._loop = asyncio.get_running_loop()
        self._held: list[Entry] = []
        self._events: list[Event] = []
        self._deltas: list[Delta] = []
        self._writing: deque[_Batch] = deque()
        self._unstored = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._flush: asyncio.Handle | None = None
        self.failed = False

    def take(self, entry: Entry) -> None:
        self._unstored += 1
        if isinstance(entry, Delta):
            if not self._deltas:
                self._keeper.note(self)
            self._deltas.append(entry)
            if self._held:
                self._held.append(entry)
            else:
                self.log.append((entry,))
            return
        self._held.append(entry)
        self._events.append(entry)
        if self._flush is None:
            # events of one breath (a step's end, the turn's end) share one commit
            self._flush = self._loop.call_soon(self._write)

    @property
    def is_behind(self) -> bool:
        """Whether so much is not stored yet that the run has to wait."""
        return self._unstored > MOST_UNSTORED

    def _write(self) -> None:
        if self._flush:
            self._flush.cancel()
            self._flush = None
        self._keeper.drop(self)
        if self._events or self._deltas:
            self._submit(self._begin(), 1)

    def hand_over(self) -> _Batch | None:
        """The deltas, to be stored with those of others; None where an event is about to take them along."""
        return None if self._events else self._begin()

    def handed_over(self, batch: _Batch, error: BaseException | None) -> None:
        """They are stored, or cannot be."""
        if error is not None:
            self.give_up(error)
        self._end(batch)

    def _begin(self) -> _Batch:
        events, deltas = tuple(self._events), tuple(self._deltas)
        self._events, self._deltas = [], []
        batch = _Batch(events, deltas, max(position(some[-1]) for some in (events, deltas) if some))
        self._writing.append(batch)
        self._idle.clear()
        return batch

    def _end(self, batch: _Batch) -> None:
        """A batch is in the store, or given up. What follows one that is still under way does not count yet."""
        batch.stored = True
        last = None
        while self._writing and self._writing[0].stored:
            done = self._writing.popleft()
            self._unstored -= len(done.events) + len(done.deltas)
            last = done.last
        if last is not None and not self.failed:
            self.log.mark_stored(last)
        if not self._writing:
            self._idle.set()

    def _submit(self, batch: _Batch, tried: int) -> None:
        future = writer.submit(partial(recorder.record, self.leg, batch.events, batch.deltas))
        committed = partial(self._committed, batch, tried)
        future.add_done_callback(lambda done: self._loop.call_soon_threadsafe(committed, done))

    def _committed(self, batch: _Batch, tried: int, done: Future[None]) -> None:
        error = done.exception()
        if error is None:
            if batch.events:
                self._release(batch.events[-1].seq)
        elif self.failed or isinstance(error, Superseded) or tried >= tries_of(error):
            self.give_up(error)
        else:
            if not failures.classify(error):
                log.warning("turn=%s: a write failed, trying again: %s", self.leg.turn, error)
            self._loop.call_later(AGAIN_S, self._submit, batch, tried + 1)
            return
        self._end(batch)

    def give_up(self, error: BaseException) -> None:
        """The turn is not this run's any more, or the store refuses its events: then it ends as failed, as
        far as it was stored. Nobody is left waiting."""
        if self.failed:
            return
        self.failed = True
        self._stop()
        if isinstance(error, Superseded):
            log.info("turn=%s: %s Its run stops.", self.leg.turn, error)
            self.log.finish()
            return
        log.error("turn=%s: cannot be recorded: %s", self.leg.turn, error)
        words = ErrorInfo(type="storage_error", message="The turn could not be recorded; the server's log says why.")
        close = partial(closing.close_turn, self.leg.turn, "failed", "storage_error", error=words)
        closed = writer.submit(partial(close, statuses=closing.RUNNING, epoch=self.leg.epoch))
        closed.add_done_callback(lambda _: self._loop.call_soon_threadsafe(self.log.finish))

    def _release(self, seq: int) -> None:
        """Publish what waited for this commit, and the deltas behind it."""
        later = (place for place, one in enumerate(self._held) if not isinstance(one, Delta) and one.seq > seq)
        place = next(later, len(self._held))
        ready, self._held = self._held[:place], self._held[place:]
        if ready:
            self.log.append(ready)

    async def settle(self) -> None:
        """Until everything taken has been committed and published."""
        self._write()
        await self._idle.wait()
