"""What a process and its children use, read from ``/proc`` (Linux). Starts and stops nothing."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_GONE = (FileNotFoundError, ProcessLookupError)


def family(pid: int) -> list[int]:
    """The process, its children, theirs, …"""
    found = [pid]
    for one in found:
        with suppress(*_GONE):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def pin(pid: int, core: int) -> None:
    """Keep the threads that the process and its children have, and will start, on one core."""
    for one in family(pid):
        with suppress(*_GONE):
            for task in Path(f"/proc/{one}/task").iterdir():
                os.sched_setaffinity(int(task.name), {core})


def cpu_seconds(pid: int, *, ended: bool = False) -> float:
    """User and system seconds so far; with ``ended`` those of children that have ended, too, which the kernel tells in
    steps of a clock tick (10 ms)."""
    members = family(pid)
    return sum(map(_own_seconds, members)) + (sum(map(_seconds_of_ended, members)) if ended else 0.0)


def _own_seconds(pid: int) -> float:
    # the number of a process's CPU clock, as `clock_getcpuclockid` makes it: nanoseconds, not ticks
    with suppress(OSError):  # it has ended
        return time.clock_gettime(~pid << 3 | 2)
    return 0.0


def _seconds_of_ended(pid: int) -> float:
    with suppress(*_GONE):
        # the name before it, in parentheses, may hold anything
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[13:15])) / TICKS_PER_S
    return 0.0


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """Resident memory in MB (2^20 bytes); ``VmHWM`` is its peak. Shared pages count for each."""
    kilobytes = 0
    for one in family(pid):
        with suppress(*_GONE):
            found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{one}/status").read_text(), re.M)
            kilobytes += int(found.group(1)) if found else 0
    return kilobytes / 1024


class Meter:
    """Seconds of wall and CPU while a ``with`` block runs. Without a process, as with another
    machine's server, ``cpu_s`` stays None; ``beside_s`` is the CPU of another process meanwhile, 0 if there is none."""

    def __init__(self, pid: int | None, beside: int | None = None) -> None:
        self._pid, self._other = pid, beside
        self.wall_s = self.beside_s = 0.0
        self.cpu_s: float | None = None

    def __enter__(self) -> Meter:
        self._cpu = cpu_seconds(self._pid) if self._pid else 0.0
        self._beside = cpu_seconds(self._other) if self._other else 0.0
        self._began = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.wall_s = time.monotonic() - self._began
        self.cpu_s = cpu_seconds(self._pid) - self._cpu if self._pid else None
        self.beside_s = cpu_seconds(self._other) - self._beside if self._other else 0.0
