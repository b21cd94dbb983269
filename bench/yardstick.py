"""How fast this machine runs Python, beside the machine the targets and the peers' figures are from.

The same server costs 37 µs a token on one processor and 85 on another, and twice as much as an hour ago where others
use the machine too, so a figure alone says little. The same fixed work is timed before and after what a figure is
measured from; its slowness is that time by the time it takes over there. That machine is not at hand any more: its time
follows from the endpoint that both have run, which took 6.5 µs a token there and 14.0 here when this work took
`MEASURED_MS`.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from bench.children import on_core

MEASURED_MS = 6.7
REFERENCE_MS = MEASURED_MS * 6.5 / 14.0
ROUNDS, REPEATS = 9, 400
TOGETHER_S = 0.3
CHUNK = {"id": "c", "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}


def work() -> int:
    """What a server of streams does all day: small JSON, small strings, small objects, calls."""
    size = 0
    for number in range(REPEATS):
        line = f"data: {json.dumps(CHUNK | {'created': number})}\n\n"
        for part in line.encode().split(b"\n\n"):
            if part:
                size += len(json.loads(part.partition(b": ")[2])["choices"][0]["delta"]["content"])
    return size


@dataclass(frozen=True, slots=True)
class Slowness:
    """How many times as long this machine takes: by the clock on the wall, and of CPU. Where others want the same core
    the work takes longer, but not more CPU."""

    wall: float
    cpu: float


def slowness() -> Slowness:
    """The median of some rounds of the work."""
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.thread_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.thread_time() - cpu)
    return Slowness(*(sorted(times)[ROUNDS // 2] * 1000 / REFERENCE_MS for times in (walls, cpus)))


class Pace:
    """How slow the servers' core is while a case measures one figure after the other."""

    def __init__(self, core: int | None = None) -> None:
        self._core = core
        self._before = self._after = self._timed()

    def meanwhile(self) -> Slowness:
        """Of what has just been measured: the mean of before and after. Figures that come together share it."""
        if time.monotonic() - self._at > TOGETHER_S:
            self._before, self._after = self._after, self._timed()
        before, after = self._before, self._after
        return Slowness((before.wall + after.wall) / 2, (before.cpu + after.cpu) / 2)

    def _timed(self) -> Slowness:
        with on_core(self._core):
            found = slowness()
        self._at = time.monotonic()
        return found
