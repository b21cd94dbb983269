"""The processes that read large traces (`agents.telemetry.reading.trace_worker`), seen from here."""

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
    """The process was told to end."""


def stop_all() -> None:
    """End what is being read: it will be read again."""
    for reader in list(_running):
        reader.stop()


class ReaderProcess:
    """One trace that is being read. Its methods are called once, in this order, but for `stop`, which any thread may
    call. Raises Unreadable, Stopped."""

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
        """Tell the trace's reports; what it is linked by."""
        self._send_bodies(bodies)
        summary = self._next()
        assert isinstance(summary, TraceSummary)  # it is the first answer
        return summary

    def send_related(self, traces: Iterable[Iterable[bytes]]) -> None:
        """Tell those of the other traces of its conversation."""
        for bodies in traces:
            self._send_bodies(bodies)
        self._send(_END_OF_TRACE)

    def turns(self) -> Iterator[tuple[TurnHead, Iterator[Sequence[ExternalStep]]]]:
        """Each turn, with its steps some at a time; these have to be taken before the next one."""
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
            self._next()  # it may have said why
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
        """Why it ended before all was said. Where nobody told it to, the trace was too much for it (the kernel ends
        what has no memory left), and would be again."""
        code = self._process.wait()
        if self._stopped or code == -signal.SIGTERM:  # which ends all processes of a service at once
            return ReaderStopped()
        return UnreadableTrace(f"the process that read it ended with {code}")


@contextmanager
def start_reader() -> Iterator[ReaderProcess]:
    """A process that reads one trace, for as long as the block lasts."""
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
