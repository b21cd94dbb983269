"""The processes that read traces, seen from this server, and the one that reads a large trace
(`agents.telemetry.reading.trace_worker`)."""

from __future__ import annotations

import fcntl
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from agents.telemetry.reading.prepared_turns import PreparedStep
from agents.telemetry.reading.trace_worker import slice_count
from agents.telemetry.reading.worker_frames import (
    END,
    ReadFailure,
    TraceSummary,
    TurnHead,
    decode_answer,
    frame,
)

_ROOT = Path(__file__).resolve().parents[4]
PIPE_BYTES = 2**20
"""Room for answers, so that a process reads on while the server stores those before."""
_running: set[ReaderProcess] = set()


class UnreadableTrace(Exception):
    """A trace could not be read."""


class ReaderEnded(UnreadableTrace):
    """The process ended with the trace, which was too much for it."""


class ReaderStopped(Exception):
    """The process was stopped before it was done."""


def stop_all() -> None:
    """Kill all reader processes; their traces are read again later."""
    for reader in list(_running):
        reader.stop()


class ReaderProcess:
    """A process that reads traces, by the module that it runs. Any thread may call `stop`; the other methods raise
    UnreadableTrace and ReaderStopped."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - no argument is anybody else's: ours alone name a module
            (sys.executable, "-m", module),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_ROOT,
            env={},  # the secrets of this server's are none of a report's business
            start_new_session=True,  # a Ctrl-C is for the server, which ends this one
        )
        assert self._process.stdin is not None  # they are pipes
        assert self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._stdout: IO[bytes] = self._process.stdout
        self._sender = ThreadPoolExecutor(1, "trace sender")
        self._stopped = False
        _running.add(self)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # a user may have only so much: the process waits for the server more often then
                fcntl.fcntl(self._stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def stop(self) -> None:
        self._stopped = True
        self._process.kill()

    def close(self) -> None:
        """Kill the process, and close its pipes."""
        self._process.kill()
        self._process.wait()
        _running.discard(self)
        self._sender.shutdown()
        for pipe in (self._stdin, self._stdout):
            with suppress(BrokenPipeError):
                pipe.close()

    def send(self, data: bytes) -> None:
        try:
            self._stdin.write(data)
            self._stdin.flush()
        except BrokenPipeError:
            self.answer()  # it may have sent the reason
            raise self._end() from None

    def send_later(self, data: bytes) -> None:
        """Send from a thread of its own, so that the caller can take answers, which the process may have to get rid of
        before it reads on."""
        self._sender.submit(self._write, data)

    def _write(self, data: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended, which whoever waits for its answers sees
            self._stdin.write(data)
            self._stdin.flush()

    def answer(self) -> Any:
        """Wait for the next answer."""
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
        return ReaderEnded(f"the process that read it ended with {code}")


class LargeTraceReader:
    """Reads one large trace. The methods are called once, in this order. They raise UnreadableTrace and
    ReaderStopped."""

    def __init__(self, process: ReaderProcess) -> None:
        self._process = process

    def send_trace(self, bodies: Iterable[bytes], reported: int) -> TraceSummary:
        """Send the trace's reports, which are said to have so many spans; returns the links of the trace."""
        self._process.send(frame(str(reported).encode()))
        self._send_bodies(bodies)
        summary = self._process.answer()
        assert isinstance(summary, TraceSummary)  # it is the first answer
        return summary

    def send_related(self, traces: Iterable[Iterable[bytes]]) -> None:
        """Send the reports of the other traces of its conversation."""
        for bodies in traces:
            self._send_bodies(bodies)
        self._process.send(END)

    def turns(self) -> Iterator[tuple[TurnHead, Iterator[Sequence[PreparedStep]]]]:
        """Yield each turn with its steps in slices; the slices must be consumed before the next turn."""
        while (head := self._process.answer()) is not None:
            yield head, self._steps(len(head.steps))

    def _steps(self, count: int) -> Iterator[Sequence[PreparedStep]]:
        for _ in range(slice_count(count)):
            yield self._process.answer()

    def _send_bodies(self, bodies: Iterable[bytes]) -> None:
        is_any = False
        for body in bodies:
            self._process.send(frame(body))
            is_any = True
        if is_any:
            self._process.send(END)


@contextmanager
def start_reader() -> Iterator[LargeTraceReader]:
    """Run a process that reads one large trace, for as long as the block lasts."""
    process = ReaderProcess("agents.telemetry.reading.trace_worker")
    try:
        yield LargeTraceReader(process)
    finally:
        process.close()
