"""The processes that read large traces (`agents.telemetry.reading.trace_worker`), seen from this server."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from agents.telemetry.reading.records import ExternalStep
from agents.telemetry.reading.trace_worker import ReadFailure, TraceSummary, TurnHead, decode_answer, frame, slice_count

_ROOT = Path(__file__).resolve().parents[4]
_END_OF_TRACE = frame(b"")
_running: set[ReaderProcess] = set()


class UnreadableTrace(Exception):
    """A trace could not be read."""


class ReaderStopped(Exception):
    """The process was stopped before it was done."""


def stop_all() -> None:
    """Kill all reader processes; their traces are read again later."""
    for reader in list(_running):
        reader.stop()


class ReaderProcess:
    """A process that reads one trace. Its methods are called once, in this order, but for `stop`, which any thread may
    call. They raise UnreadableTrace and ReaderStopped."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None  # they are pipes
        assert process.stdout is not None
        self._process, self._stopped = process, False
        self._stdin: IO[bytes] = process.stdin
        self._stdout: IO[bytes] = process.stdout

    def stop(self) -> None:
        self._stopped = True
        self._process.kill()

    def send_trace(self, bodies: Iterable[bytes]) -> TraceSummary:
        """Send the trace's reports; returns the links of the trace."""
        self._send_bodies(bodies)
        summary = self._next()
        assert isinstance(summary, TraceSummary)  # it is the first answer
        return summary

    def send_related(self, traces: Iterable[Iterable[bytes]]) -> None:
        """Send the reports of the other traces of its conversation."""
        for bodies in traces:
            self._send_bodies(bodies)
        self._send(_END_OF_TRACE)

    def turns(self) -> Iterator[tuple[TurnHead, Iterator[Sequence[ExternalStep]]]]:
        """Yield each turn with its steps in slices; the slices must be consumed before the next turn."""
        while (head := self._next()) is not None:
            yield head, self._steps(len(head.steps))

    def _steps(self, count: int) -> Iterator[Sequence[ExternalStep]]:
        for _ in range(slice_count(count)):
            yield self._next()

    def _send_bodies(self, bodies: Iterable[bytes]) -> None:
        is_any = False
        for body in bodies:
            self._send(frame(body))
            is_any = True
        if is_any:
            self._send(_END_OF_TRACE)

    def _send(self, data: bytes) -> None:
        try:
            self._stdin.write(data)
            self._stdin.flush()
        except BrokenPipeError:
            self._next()  # it may have sent the reason
            raise self._end() from None

    def _next(self) -> Any:
        size = int.from_bytes(self._stdout.read(4), "big")
        body = self._stdout.read(size)
        if not size or len(body) < size:
            raise self._end()
        message = decode_answer(body)
        if isinstance(message, ReadFailure):
            raise UnreadableTrace(message.traceback)
        return message

    def _end(self) -> Exception:
        """The reason why the process ended early. Where nobody stopped it, the trace was too much for it (the kernel
        kills a process without memory), and would be again."""
        code = self._process.wait()
        if self._stopped or code == -signal.SIGTERM:  # which ends all processes of a service at once
            return ReaderStopped()
        return UnreadableTrace(f"the process that read it ended with {code}")


@contextmanager
def start_reader() -> Iterator[ReaderProcess]:
    """Run a process that reads one trace, for as long as the block lasts."""
    process = subprocess.Popen(
        (sys.executable, "-m", "agents.telemetry.reading.trace_worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env={},  # the secrets of this server's are none of a report's business
        start_new_session=True,  # a Ctrl-C is for the server, which ends this one
    )
    reader = ReaderProcess(process)
    _running.add(reader)
    try:
        yield reader
    finally:
        process.kill()
        process.wait()
        _running.discard(reader)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
