"""A place to run Python that nobody has read: bubblewrap around an interpreter of its own.

No network, no files but a copied standard library (read only) and an empty folder in memory, no
environment, no other processes, no new privileges; limits on time, memory, threads, files and
output. Linux with unprivileged user namespaces and the program ``bwrap``; `walls` tries each
wall before anything else is run, and says which one does not stand.

Memory needs no cgroup, which few servers are given: a program is one process, whose memory has a
limit, its files have another, and the filter of system calls refuses what neither would count.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from agents.tools.providers import bubblewrap, seccomp
from agents.tools.providers.python_copy import PythonCopy

MAX_RUN_S = 30.0
MAX_OUTPUT_BYTES = 256 * 2**10
"""Bytes of output that are kept; four times as much, and the program is stopped."""
SANDBOX_UID = 61_184
"""Whom it runs as where the server is root: of no user, so that limits by user count only this."""


class SandboxUnavailable(Exception):
    """The sandbox cannot be had here; says why."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """``status`` is the exit status, negative for a signal; ``stopped`` says why it was stopped."""

    status: int
    out: str
    err: str
    stopped: str = ""


class Sandbox:
    """Runs programs, each in a place of its own."""

    def __init__(self, bwrap: str | None = None) -> None:
        self._bwrap = bwrap or shutil.which("bwrap")
        self._copy: PythonCopy | None = None

    async def run(self, source: str, wall_s: float = MAX_RUN_S) -> ProgramResult:
        """Run a program to its end. Raises Unavailable."""
        bwrap, filter_ = self._requirements()
        copy = await asyncio.to_thread(self._python)
        with _Files(source.encode(errors="replace"), filter_) as files:
            process = await asyncio.create_subprocess_exec(
                *bubblewrap.command(bwrap, copy.home, files.arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=files.numbers,
                env={},
                cwd="/",
                start_new_session=True,
                **_identity(),
            )
        return await _watch(process, wall_s)

    def close(self) -> None:
        """Remove the copied interpreter; done at the process's end too."""
        if self._copy is not None:
            self._copy.remove()
        self._copy = None

    def _requirements(self) -> tuple[str, bytes]:
        """What the machine must have: the program, and a processor whose calls can be filtered."""
        filter_ = seccomp.program()
        if self._bwrap is None:
            raise SandboxUnavailable("the program bwrap (package bubblewrap) is not installed")
        if filter_ is None:
            raise SandboxUnavailable(f"there is no filter of system calls for this processor, {platform.machine()}")
        return self._bwrap, filter_

    def _python(self) -> PythonCopy:
        if self._copy is None or not self._copy.is_complete():
            self.close()
            self._copy = PythonCopy()
        return self._copy


def _identity() -> dict[str, Any]:
    """Never as root: a limit on processes does not hold for it."""
    return {"user": SANDBOX_UID, "group": SANDBOX_UID, "extra_groups": []} if os.geteuid() == 0 else {}


class _Files:
    """What is handed in by descriptor: the program, and the filter of system calls."""

    def __init__(self, source: bytes, filter_: bytes) -> None:
        self.numbers = code, calls = _memory("code", source), _memory("seccomp", filter_)
        self.arguments = ["--ro-bind-data", str(code), "/code.py", "--seccomp", str(calls)]

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self.numbers:
            os.close(number)


def _memory(name: str, data: bytes) -> int:
    number = os.memfd_create(name)
    os.write(number, data)
    os.lseek(number, 0, os.SEEK_SET)
    return number


# ---------------------------------------------------------------------------------------- watching it


async def _watch(process: asyncio.subprocess.Process, wall_s: float) -> ProgramResult:
    """Read what a program says until it ends, or has to be stopped."""
    assert process.stdout
    assert process.stderr
    too_much = asyncio.Event()
    out, err = _BoundedOutput(process.stdout, too_much), _BoundedOutput(process.stderr, too_much)
    ends = [asyncio.create_task(work) for work in (out.read(), err.read(), too_much.wait())]
    try:
        end = await _first(ends[2], asyncio.gather(*ends[:2]), wall_s)
    finally:
        # what it said last is still in the pipes, and they end with it
        if process.returncode is None and (not ends[0].done() or not ends[1].done()):
            _kill(process)
        too_much.set()
        status = await process.wait()
        await asyncio.gather(*ends, return_exceptions=True)
    stopped = {
        "time": f"it did not end within {wall_s:g} s",
        "size": f"it wrote more than {4 * MAX_OUTPUT_BYTES // 1024} KiB",
    }
    return ProgramResult(status, out.text, err.text, stopped.get(end) or _limit_message(status))


async def _first(too_much: asyncio.Task[Any], reading: asyncio.Future[Any], wall_s: float) -> str:
    """What comes first: ``end``, ``size`` or ``time``."""
    done, _ = await asyncio.wait({too_much, reading}, timeout=wall_s, return_when=asyncio.FIRST_COMPLETED)
    if reading in done:
        return "end"
    return "size" if too_much in done else "time"


class _BoundedOutput:
    """The first bytes of a stream; what follows is read and dropped, and tells when it is far too much."""

    def __init__(self, stream: asyncio.StreamReader, too_much: asyncio.Event) -> None:
        self._stream, self._too_much = stream, too_much
        self._bytes = bytearray()

    async def read(self) -> None:
        size = 0
        while part := await self._stream.read(65_536):
            size += len(part)
            self._bytes += part[: MAX_OUTPUT_BYTES - len(self._bytes)]
            if size > 4 * MAX_OUTPUT_BYTES:
                self._too_much.set()

    @property
    def text(self) -> str:
        return self._bytes.decode(errors="replace")


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def _limit_message(status: int) -> str:
    if status in {128 + 9, 128 + 24, -9, -24}:
        return f"it used more than {bubblewrap.MAX_CPU_S} s of processor time, or too much memory"
    return ""
