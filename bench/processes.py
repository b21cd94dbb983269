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


def cpu_seconds(pid: int, *, ended: bool = False) -> float:
    """User and system seconds so far, in steps of a clock tick (10 ms); with ``ended`` those of children that have
    ended, too."""
    last = 15 if ended else 13
    ticks = 0
    for one in family(pid):
        with suppress(*_GONE):
            # the name before it, in parentheses, may hold anything
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:last]))
    return ticks / TICKS_PER_S


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
    machine's server, ``cpu_s`` stays None."""

    def __init__(self, pid: int | None) -> None:
        self._pid = pid
        self.wall_s = 0.0
        self.cpu_s: float | None = None

    def __enter__(self) -> Meter:
        self._cpu = cpu_seconds(self._pid) if self._pid else 0.0
        self._began = time.monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.wall_s = time.monotonic() - self._began
        self.cpu_s = cpu_seconds(self._pid) - self._cpu if self._pid else None
