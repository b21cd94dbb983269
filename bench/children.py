"""A child process: started on a core of its own, its output in a file, ended by SIGTERM."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.faults import Broken

ROOT = Path(__file__).resolve().parent.parent
LOOK_S = 0.01
"""How often a log or an end is looked for; start-up times are this coarse."""


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """What is started inside runs on this core; the caller itself comes back to where it was."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Child:
    """A running process and the file it writes to."""

    def __init__(self, command: Sequence[str], log: Path, *, env: Mapping[str, str], core: int | None = None) -> None:
        self.log = log
        self.began = time.monotonic()
        with log.open("wb") as output, on_core(core):
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self.pid = self._process.pid
        self._killed = False

    async def says(self, pattern: str, within_s: float) -> str:
        """The first group of a line of its output. Raises Broken when it ends or stays silent."""
        while True:
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found:
                return found.group(1)
            if self._process.poll() is not None:
                raise Broken(f"the process ended with {self._process.returncode}: {self.tail()}")
            if time.monotonic() - self.began > within_s:
                raise Broken(f"the process is not ready after {within_s:g} s: {self.tail()}")
            await asyncio.sleep(LOOK_S)

    def tail(self) -> str:
        return self.log.read_text(errors="replace").strip()[-600:]

    def kill(self) -> None:
        """SIGKILL, on purpose."""
        self._killed = True
        self._process.kill()
        self._process.wait()

    async def stop(self, within_s: float = 30.0) -> None:
        """SIGTERM, and wait; nothing for one that was killed on purpose. Raises Broken when it has to be killed, or
        ends with an error."""
        if self._killed:
            return
        self._process.terminate()
        asked = time.monotonic()
        while self._process.poll() is None:
            if time.monotonic() - asked > within_s:
                self._process.kill()
                self._process.wait()
                raise Broken(f"the process did not end within {within_s:g} s of SIGTERM: {self.tail()}")
            await asyncio.sleep(LOOK_S)
        if self._process.returncode not in (0, -signal.SIGTERM):  # the latter had no handler yet: it never began
            raise Broken(f"the process ended with {self._process.returncode}: {self.tail()}")
