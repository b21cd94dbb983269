"""A short turn, one after the other: what a lone user waits for."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases import streaming
from bench.figures import Row, Target
from bench.stage import Stage


async def rows(stage: Stage) -> AsyncIterator[Row]:
    streams = await streaming.turns(stage, "fake-50", width=1, count=stage.size(100, 20))
    yield streams.total(Target(12, commits=4), peer="36 / 601")
    yield streams.first_event(peer="8.0 / 8.1")
    for row in streams.cpu(peer="683 / 1,333"):
        yield row
