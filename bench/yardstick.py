"""How fast this machine runs Python, beside the machine the targets and the peers' figures are from.

The same server costs 37 µs a token on one processor and 85 on another, so a figure alone says little. The
same fixed work is timed before each run; `slowness` is its time by the time it takes over there. That
machine is not at hand any more: its time follows from the endpoint that both have run, which took 6.5 µs
a token there and 14.0 here when this work took `MEASURED_MS`.
"""

from __future__ import annotations

import json
import time

MEASURED_MS = 6.7
REFERENCE_MS = MEASURED_MS * 6.5 / 14.0
ROUNDS, REPEATS = 9, 400
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


def time_ms() -> float:
    """The median time of the work."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[ROUNDS // 2]


def slowness() -> float:
    """How many times as long this machine takes."""
    return time_ms() / REFERENCE_MS
