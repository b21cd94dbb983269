"""Turns whose 200 tokens come at once: what the server spends on a token when it is never idle."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases import streaming
from bench.figures import SECOND, Row, Target
from bench.stage import Stage

MODEL = "fake-200"


async def rows(stage: Stage) -> AsyncIterator[Row]:
    alone = await streaming.turns(stage, MODEL, width=1, count=stage.size(64, 16))
    for row in alone.cpu(peer="338 / 983"):
        yield row
    # the turn's first row is committed before anybody hears of it
    yield alone.first_event(Target(3, commits=1, set_at=SECOND), peer="15.6 / 8.7")
    yield alone.total(peer="121 / 2,249")
    for width, cpu, total in ((8, "350 / 572", "597 / 2,515"), (32, "402 / 425", "2,154 / 3,082")):
        streams = await streaming.turns(stage, MODEL, width=width, count=stage.size(128, 64))
        for row in streams.cpu(Target(20, set_at=SECOND), peer=cpu):
            yield row
        yield streams.first_event()
        yield streams.total(peer=total)
