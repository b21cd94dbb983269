"""Memory of a server that nobody asks anything, a minute after it started with the demo's data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bench.figures import Row, Target
from bench.processes import memory_mb
from bench.stage import Stage

LIMIT = Target(120)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    launcher, seconds = stage.own(), stage.size(60, 10)
    # the first start has loaded the demo itself, so it has touched more than one that found it
    for what in ("idle after the first start", "idle after a later start"):
        async with launcher.run("idle", demo=True) as server:
            await asyncio.sleep(seconds)
            peak = f"peak {memory_mb(server.pid, 'VmHWM'):.0f} MB"
            yield Row(f"{what}, {seconds} s", "resident memory", memory_mb(server.pid), "MB", LIMIT, "150", peak)
