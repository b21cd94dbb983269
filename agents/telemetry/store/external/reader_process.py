"""The processes that read large traces (`agents.telemetry.reading.trace_worker`), seen from here."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from agents.telemetry.reading.records import ForeignStep
from agents.telemetry.reading.trace_worker import Failed, Head, Told, frame, read, slices

_ROOT = Path(__file__).resolve().parents[4]
_END = frame(b"")
_running: set[Reading] = set()


class Unreadable(Exception):
    """A trace could not be read."""


class Stopped(Exception):
    """The process was told to end."""


def stop() -> None:
    """End what is being read: it will be read again."""
    for one in list(_running):
        one.stop()


class Reading:
    """One trace that is being read. Its methods are called once, in this order, but for `stop`, which any thread may
    call. Raises Unreadable, Stopped."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None  # they are pipes
        assert process.stdout is not None
        self._process, self._stopped = process, False
        self._given: IO[bytes] = process.stdin
        self._told: IO[bytes] = process.stdout

    def stop(self) -> None:
        self._stopped = True
        self._process.kill()

    def tell(self, bodies: Iterable[bytes]) -> Told:
        """Tell the trace's reports; what it is linked by."""
        self._tell(bodies)
        found = self._next()
        assert isinstance(found, Told)  # it is the first answer
        return found

    def tell_others(self, traces: Iterable[Iterable[bytes]]) -> None:
        """Tell those of the other traces of its conversation."""
        for bodies in traces:
            self._tell(bodies)
        self._send(_END)

    def turns(self) -> Iterator[tuple[Head, Iterator[Sequence[ForeignStep]]]]:
        """Each turn, with its steps some at a time; these have to be taken before the next one."""
        while (head := self._next()) is not None:
            yield head, self._steps(len(head.steps))

    def _steps(self, count: int) -> Iterator[Sequence[ForeignStep]]:
        for _ in range(slices(count)):
            yield self._next()

    def _tell(self, bodies: Iterable[bytes]) -> None:
        some = False
        for body in bodies:
            self._send(frame(body))
            some = True
        if some:
            self._send(_END)

    def _send(self, data: bytes) -> None:
        try:
            self._given.write(data)
            self._given.flush()
        except BrokenPipeError:
            self._next()  # it may have said why
            raise self._end() from None

    def _next(self) -> Any:
        size = int.from_bytes(self._told.read(4), "big")
        body = self._told.read(size)
        if not size or len(body) < size:
            raise self._end()
        found = read(body)
        if isinstance(found, Failed):
            raise Unreadable(found.trace)
        return found

    def _end(self) -> Exception:
        """Why it ended before all was said. Where nobody told it to, the trace was too much for it (the kernel ends
        what has no memory left), and would be again."""
        code = self._process.wait()
        if self._stopped or code == -signal.SIGTERM:  # which ends all processes of a service at once
            return Stopped()
        return Unreadable(f"the process that read it ended with {code}")


@contextmanager
def reading() -> Iterator[Reading]:
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
    one = Reading(process)
    _running.add(one)
    try:
        yield one
    finally:
        process.kill()
        process.wait()
        _running.discard(one)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
