"""What budgets take of a turn: turns of a server that has one beside the same turns before, in pairs. The budget is far
from its limit, and for the whole server, so that every inference is checked against it and counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from statistics import median

from bench.cases import streaming
from bench.faults import Skipped
from bench.figures import Row, Target
from bench.stage import Stage

MODEL, WIDTH = "fake-50", 8
WITHIN = Target(1.05)
LIMIT = 10**12


async def rows(stage: Stage) -> AsyncIterator[Row]:
    if stage.server_pid is None:
        raise Skipped("the server's process is not known")
    without, limited = [], []
    await _turn_s(stage)
    for _ in range(stage.size(5, 1)):
        without.append(await _turn_s(stage))
        made = await stage.api.ask("POST", f"{stage.api.base}/v1/budgets", {"tokens": LIMIT})
        limited.append(await _turn_s(stage))
        await stage.api.ask("DELETE", f"{stage.api.base}/v1/budgets/{made['id']}")
    ratios = [there / here for here, there in zip(without, limited, strict=True)]
    medians = f"{1000 * median(limited):.2f} and {1000 * median(without):.2f} ms"
    note = f"{medians}; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
    yield Row(f"turn, {MODEL}, with a budget", "server CPU, times that without", median(ratios), "×", WITHIN, note=note)


async def _turn_s(stage: Stage) -> float:
    """CPU seconds of a turn."""
    streams = await streaming.turns(stage, MODEL, width=WIDTH, count=stage.size(256, 64))
    assert streams.meter.cpu_s is not None  # the process is known
    return streams.meter.cpu_s / len(streams.timings)
