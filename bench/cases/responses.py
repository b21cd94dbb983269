"""Responses of OpenAI's API: the same loop in another dialect, so the same price for a token."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases.streaming import WARM_UP, Streams, crowd
from bench.client import at_a_time, check_responses
from bench.figures import SECOND, Row, Target, latency
from bench.stage import Stage

MODEL, SHORT = "fake-200", "fake-50"


async def rows(stage: Stage) -> AsyncIterator[Row]:
    alone = await _streams(stage, width=1, count=stage.size(64, 16))
    for row in alone.cpu(peer="270–315"):
        yield row
    yield alone.first_event()
    yield alone.total(peer="52")
    for width in (8, 32):
        streams = await _streams(stage, width=width, count=stage.size(128, 64))
        for row in streams.cpu(Target(20, set_at=SECOND), peer="275–315"):
            yield row
        yield streams.total()
    yield await _whole(stage)


async def _streams(stage: Stage, *, width: int, count: int) -> Streams:
    await at_a_time(width, max(WARM_UP, width), lambda _: stage.api.response(MODEL))
    with stage.meter() as meter:
        timings = await at_a_time(width, count, lambda _: stage.api.response(MODEL))
    check_responses(timings, MODEL)
    return Streams(f"response, {MODEL}, {crowd(width)}", timings, meter)


async def _whole(stage: Stage) -> Row:
    for _ in range(WARM_UP):
        await stage.api.whole_response(SHORT)
    seconds = await at_a_time(1, stage.size(100, 20), lambda _: stage.api.whole_response(SHORT))
    what = f"response without streaming, {SHORT}, {crowd(1)}"
    return latency(what, "whole answer", seconds, Target(12, commits=4), peer="21")
