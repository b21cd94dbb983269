"""The process that reads small traces, many at a time (`agents.telemetry.reading.batch_worker`), seen from this
server."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from agents.telemetry.reading.worker_frames import ReadTrace, SmallTrace, batch_frame
from agents.telemetry.store.external.due_traces import DueTrace
from agents.telemetry.store.external.reader_process import ReaderEnded, ReaderProcess, UnreadableTrace

log = logging.getLogger(__name__)

IDLE_S = 30.0
"""How long the process is kept without any traces."""
Reading = ReadTrace | UnreadableTrace | None
"""A trace as the process has read it, or why it cannot be read; None where the process has not."""


class BatchReader:
    """Reads small traces in a process that starts with the first of them, and ends after `IDLE_S` without any. One
    thread at a time may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: ReaderProcess | None = None
        self._used_at = 0.0
        self._timer: threading.Timer | None = None

    @contextmanager
    def claimed(self, wanted: bool) -> Iterator[bool]:
        """Claim the reader for as long as the block lasts, if it is wanted; the value is false where another thread has
        it, or where there is no second core for its process."""
        claimed = wanted and has_cores() and self._lock.acquire(blocking=False)
        try:
            yield claimed
        finally:
            if claimed:
                self._used_at = time.monotonic()
                self._watch()
                self._lock.release()

    def read(self, chunks: Iterable[Sequence[DueTrace]]) -> Iterator[tuple[DueTrace, Reading]]:
        """Yield all traces in order with what the process has read of them: of large ones nothing, nor of any once it
        has ended. It has each chunk before the one before is yielded, so that it reads while that is stored. Raises
        ReaderStopped."""
        self._start()
        is_done = False
        try:
            for traces in self._sent_ahead(chunks):
                for trace in traces:
                    yield trace, None if trace.is_large else self._answer()
            is_done = True
        finally:
            if not is_done:  # answers that nobody has taken are of no use any more
                self.stop()

    def _start(self) -> None:
        try:
            self._process = self._process or ReaderProcess("agents.telemetry.reading.batch_worker")
        except OSError as error:
            log.warning("no process can be started that reads traces: %s", error)

    def _sent_ahead(self, chunks: Iterable[Sequence[DueTrace]]) -> Iterator[Sequence[DueTrace]]:
        """Yield the chunks, each after the one behind it is sent."""
        last: Sequence[DueTrace] = ()
        for traces in chunks:
            small = [SmallTrace(trace.bodies, trace.spans) for trace in traces if not trace.is_large]
            if small and self._process is not None:
                self._process.send_later(batch_frame(small))
            yield last
            last = traces
        yield last

    def _answer(self) -> Reading:
        if self._process is None:
            return None
        try:
            read: ReadTrace = self._process.answer()
            return read
        except ReaderEnded as error:
            log.warning("traces are read without a process of their own: %s", error)
            self.stop()
            return None
        except UnreadableTrace as error:
            return error

    def _watch(self) -> None:
        """See to it that the process ends. Imports use it in commands and in servers without a projector: nobody else
        would."""
        if self._process is not None and self._timer is None:
            self._timer = threading.Timer(self._used_at + IDLE_S - time.monotonic(), self._rest)
            self._timer.daemon = True
            self._timer.start()

    def _rest(self) -> None:
        with self._lock:
            self._timer = None
            if time.monotonic() - self._used_at >= IDLE_S:
                self.stop()
            self._watch()

    def stop(self) -> None:
        """End the process, which nobody has to see to any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._process is not None:
            self._process.close()
            self._process = None


def has_cores() -> bool:
    """Whether this process may use more than one core."""
    return len(os.sched_getaffinity(0)) > 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) > 1


batch_reader = BatchReader()
"""The reader of this process."""
