"""Turns at a model's pace, a token every 20 ms: each token is a wake-up and a packet of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases import streaming
from bench.figures import SECOND, Row, Target
from bench.stage import Stage


async def rows(stage: Stage) -> AsyncIterator[Row]:
    streams = await streaming.turns(stage, "fake-50-d20", width=32, count=stage.size(128, 32))
    for row in streams.cpu(Target(100, set_at=SECOND), peer="891 / 944"):
        yield row
    yield streams.first_event(peer="390 / 361")
    yield streams.total(peer="1,716 / 1,746")
