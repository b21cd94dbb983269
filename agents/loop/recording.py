"""Writes a run's entries to the store and publishes them in the live log.

Events go to the writer and, once committed, to the turn's live log. Deltas go to the log at once, unless
an event before them still waits for its commit, and to the writer every quarter of a second, so that a
crash loses no more than that.

A failed write is retried for as long as the store is unavailable. A refused write, because another
process owns the turn now, ends the run at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from agents.base import loop_calls
from agents.base.store import failures
from agents.base.store.writer import writer
from agents.record.bus import TurnLog
from agents.record.schemas.events import Cursor, Delta, Entry, ErrorInfo, Event, Output, position
from agents.record.store import closing, recorder
from agents.record.store.recorder import Superseded, TurnRef

log = logging.getLogger(__name__)

WRITE_DELTAS_S = 0.25
MAX_UNSTORED = 8192
"""The maximum of a run's entries that are not stored yet: beyond it the run waits for the store."""
RETRY_S = 1.0
WRITE_TRIES = 3
OFFLINE_TRIES = 600
"""The maximum of tries of a write, one per second: if the store refuses it, and while the store is unavailable."""


def max_tries(error: BaseException) -> int:
    """Return how often a write that fails with ``error`` is tried."""
    return OFFLINE_TRIES if failures.classify(error) else WRITE_TRIES


@dataclass(eq=False, slots=True)
class _Batch:
    """Entries of a run that are written together. ``last`` is the cursor of a reader that has seen them."""

    events: Sequence[Event]
    deltas: Sequence[Delta]
    last: Cursor
    stored: bool = False


class DeltaWriter:
    """Stores the deltas of all runs four times a second, in one job and one commit."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pending: set[Recording] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, recording: Recording) -> None:
        """Add a run that has deltas to store."""
        self._pending.add(recording)
        if self._timer is None:
            self._timer = self._loop.call_later(WRITE_DELTAS_S, self._write_deltas)

    def discard(self, recording: Recording) -> None:
        """Remove a run whose deltas are stored with its events."""
        self._pending.discard(recording)

    def _write_deltas(self) -> None:
        self._timer = None
        recordings, self._pending = list(self._pending), set()
        pending_batches = [(recording, recording.take_deltas()) for recording in recordings]
        batches = [(recording, batch) for recording, batch in pending_batches if batch is not None]
        if batches:
            self._submit(batches, 1)

    def _submit(self, batches: Sequence[tuple[Recording, _Batch]], tried: int) -> None:
        deltas = [(recording.turn_ref, batch.deltas) for recording, batch in batches]
        future = writer.submit(partial(recorder.record_deltas, deltas))
        done = partial(self._done, batches, tried)
        future.add_done_callback(partial(loop_calls.call_soon, self._loop, done))

    def _done(self, batches: Sequence[tuple[Recording, _Batch]], tried: int, written: Future[frozenset[int]]) -> None:
        error = written.exception()
        if error is not None and tried < max_tries(error):
            if not failures.classify(error):  # the writer logs a store that is unavailable
                log.warning("what %d runs typed could not be stored, trying again: %s", len(batches), error)
            self._loop.call_later(RETRY_S, self._submit, batches, tried + 1)
            return
        lost = frozenset() if error is not None else written.result()
        for recording, batch in batches:
            recording.deltas_written(
                batch, Superseded(recording.turn_ref.turn) if recording.turn_ref.turn in lost else error
            )


class Recording:
    """Writes and publishes the entries of one run, in order. ``stop`` ends the run when it can no longer be
    recorded; ``failed`` is true then."""

    def __init__(
        self, turn_ref: TurnRef, turn_log: TurnLog, delta_writer: DeltaWriter, stop: Callable[[], object]
    ) -> None:
        self.turn_ref, self.log, self._delta_writer, self._stop = turn_ref, turn_log, delta_writer, stop
        self._loop = asyncio.get_running_loop()
        self._unpublished: list[Entry] = []
        self._events: list[Event] = []
        self._deltas: list[Delta] = []
        self._writing: deque[_Batch] = deque()
        self._unstored = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._flush: asyncio.Handle | None = None
        self.failed = False

    def add(self, output: Output) -> None:
        """Add an event, or deltas that came together."""
        if isinstance(output, list):
            self._add_deltas(output)
            return
        self._unstored += 1
        self._unpublished.append(output)
        self._events.append(output)
        if self._flush is None:
            # events of one iteration of the event loop (a step's end, the turn's end) share a commit
            self._flush = self._loop.call_soon(self._write)

    def _add_deltas(self, deltas: list[Delta]) -> None:
        self._unstored += len(deltas)
        if not self._deltas:
            self._delta_writer.add(self)
        self._deltas += deltas
        if self._unpublished:
            self._unpublished += deltas
        else:
            self.log.append_deltas(deltas)

    @property
    def must_wait(self) -> bool:
        """Whether too many entries are not stored yet, so that the run has to wait."""
        return self._unstored > MAX_UNSTORED

    def _write(self) -> None:
        if self._flush:
            self._flush.cancel()
            self._flush = None
        self._delta_writer.discard(self)
        if self._events or self._deltas:
            self._submit(self._begin(), 1)

    def take_deltas(self) -> _Batch | None:
        """Take the deltas, to store them with those of other runs; None if they are stored with an event."""
        return None if self._events else self._begin()

    def deltas_written(self, batch: _Batch, error: BaseException | None) -> None:
        """Note that the taken deltas are stored, or failed with ``error``."""
        if error is not None:
            self.give_up(error)
        self._end(batch)

    def _begin(self) -> _Batch:
        events, deltas = tuple(self._events), tuple(self._deltas)
        self._events, self._deltas = [], []
        batch = _Batch(events, deltas, max(position(entries[-1]) for entries in (events, deltas) if entries))
        self._writing.append(batch)
        self._idle.clear()
        return batch

    def _end(self, batch: _Batch) -> None:
        """Note that a batch is stored or given up. A batch after one that is still being written does not count
        yet."""
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
        future = writer.submit(partial(recorder.record, self.turn_ref, batch.events, batch.deltas))
        committed = partial(self._committed, batch, tried)
        future.add_done_callback(partial(loop_calls.call_soon, self._loop, committed))

    def _committed(self, batch: _Batch, tried: int, done: Future[None]) -> None:
        error = done.exception()
        if error is None:
            if batch.events:
                self._publish(batch.events[-1].seq)
        elif self.failed or isinstance(error, Superseded) or tried >= max_tries(error):
            self.give_up(error)
        else:
            if not failures.classify(error):
                log.warning("turn=%s: a write failed, trying again: %s", self.turn_ref.turn, error)
            self._loop.call_later(RETRY_S, self._submit, batch, tried + 1)
            return
        self._end(batch)

    def give_up(self, error: BaseException) -> None:
        """Stop the run: another process owns the turn now, or the store refuses its events; then the turn ends
        as failed, with the part that is stored. Readers of the log are not left waiting."""
        if self.failed:
            return
        self.failed = True
        self._stop()
        if isinstance(error, Superseded):
            log.info("turn=%s: %s Its run stops.", self.turn_ref.turn, error)
            self.log.finish()
            return
        log.error("turn=%s: cannot be recorded: %s", self.turn_ref.turn, error)
        error_info = ErrorInfo(
            type="storage_error", message="The turn could not be recorded; the server's log says why."
        )
        ending = closing.TurnEnding("failed", "storage_error", error_info)
        turn, epoch = self.turn_ref.turn, self.turn_ref.epoch
        closed = writer.submit(partial(closing.close_turn, turn, ending, statuses=closing.RUNNING, epoch=epoch))
        closed.add_done_callback(lambda _: loop_calls.call_soon(self._loop, self.log.finish))

    def _publish(self, seq: int) -> None:
        """Publish the events that waited for this commit, and the deltas after them."""
        later_events = (
            position
            for position, entry in enumerate(self._unpublished)
            if not isinstance(entry, Delta) and entry.seq > seq
        )
        position = next(later_events, len(self._unpublished))
        ready, self._unpublished = self._unpublished[:position], self._unpublished[position:]
        if ready:
            self.log.append(ready)

    async def flush(self) -> None:
        """Wait until all added entries are committed and published."""
        self._write()
        await self._idle.wait()
