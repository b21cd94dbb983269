"""A short turn, one after the other: what a lone user waits for."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases import streaming
from bench.figures import SECOND, Row, Target
from bench.stage import Stage


async def rows(stage: Stage) -> AsyncIterator[Row]:
    streams = await streaming.turns(stage, "fake-50", width=1, count=stage.size(100, 20))
    yield streams.total(Target(6, commits=4, set_at=SECOND), peer="36 / 601")
    yield streams.first_event(peer="8.0 / 8.1")
    for row in streams.cpu(peer="683 / 1,333"):
        yield row
    for row in streams.cpu_of_each(Target(5, set_at=SECOND)):
        yield row
