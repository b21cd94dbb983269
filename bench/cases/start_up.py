"""From nothing to the first healthy reply, with the demo's data already there."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.figures import SECOND, Row, Target, spread
from bench.stage import Stage


async def rows(stage: Stage) -> AsyncIterator[Row]:
    launcher = stage.own()
    async with launcher.run("start-up", demo=True) as first:
        note = "migrates, loads the demo"
    yield Row("start, on an empty folder", "first healthy reply", first.start_s, "s", note=note)
    seconds = []
    for _ in range(stage.size(5, 2)):
        async with launcher.run("start-up", demo=True) as server:
            seconds.append(server.start_s)
    found = spread(seconds)
    yield Row(
        "start, on its data",
        "first healthy reply",
        found.p50_ms / 1000,
        "s",
        Target(1.5, set_at=SECOND),
        "2.3–2.5",
        f"n = {found.count}",
    )
