"""What counting for `/metrics` takes of a turn: the very calls, many times over, beside the CPU of a whole turn of the
server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from agents.base import metrics
from bench.cases import streaming
from bench.faults import Skipped
from bench.figures import Row, Target
from bench.stage import Stage

MODEL, WIDTH = "fake-200", 8
COMMITS = 3
"""Of a turn that is alone."""
SCRAPES_A_TURN = 0.1
"""Ten turns between two scrapes."""
WITHIN = Target(0.01)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    streams = await streaming.turns(stage, MODEL, width=WIDTH, count=stage.size(128, 16))
    if streams.meter.cpu_s is None:
        raise Skipped("the server's process is not known")
    turn_s = streams.meter.cpu_s / len(streams.timings)
    counting_s = await asyncio.to_thread(_seconds, _count_turn, stage.size(5_000, 500))
    scrape_s = await asyncio.to_thread(_seconds, metrics.exposition, stage.size(100, 10))
    taken = counting_s + SCRAPES_A_TURN * scrape_s
    note = f"{1e6 * counting_s:.0f} µs of {1000 * turn_s:.1f} ms; a scrape {1000 * scrape_s:.2f} ms"
    yield Row(f"turn, {MODEL}", "CPU of its metrics, of all its CPU", taken / turn_s, "×", WITHIN, note=note)


def _count_turn() -> None:
    """Count what a turn over the API counts: its session and itself, the reader, the inference, the commits."""
    for _ in range(2):
        metrics.count_request("agents", 200, 0.01)
    metrics.reader_came("stream")
    inference = metrics.Inference("openai")
    inference.first_token()
    inference.end("completed")
    metrics.count_usage({"input": 10, "output": 200}, 1_000)
    metrics.count_turn("completed", 1.0)
    for _ in range(COMMITS):
        metrics.count_commit(1, 0.001)
    metrics.reader_left("stream")


def _seconds(work: Callable[[], object], times: int) -> float:
    """CPU seconds of a call, at best."""
    found = []
    for _ in range(5):
        began = time.thread_time()
        for _ in range(times):
            work()
        found.append((time.thread_time() - began) / times)
    return min(found)
