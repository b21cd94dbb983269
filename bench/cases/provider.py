"""The endpoint itself, without a server in between: the floor under every figure below."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases.streaming import WARM_UP, Streams, crowd
from bench.client import at_a_time
from bench.figures import Row
from bench.processes import Meter
from bench.stage import Stage


async def rows(stage: Stage) -> AsyncIterator[Row]:
    for model, width, count in (
        ("fake-200", 1, stage.size(200, 20)),
        ("fake-200", 8, stage.size(200, 32)),
        ("fake-200", 32, stage.size(200, 64)),
        ("fake-50-d20", 32, stage.size(64, 32)),
    ):
        streams = await completions(stage, model, width=width, count=count)
        for row in streams.cpu(who="endpoint"):
            yield row
        if width == 1:
            yield streams.first_event()
        yield streams.total()


async def completions(stage: Stage, model: str, *, width: int, count: int) -> Streams:
    """Chat completions straight from the endpoint."""
    base = stage.endpoint.base
    await at_a_time(2, WARM_UP, lambda _: stage.api.completion(base, model))
    with Meter(stage.endpoint.pid) as meter:
        timings = await at_a_time(width, count, lambda _: stage.api.completion(base, model))
    return Streams(f"endpoint, {model}, {crowd(width)}", timings, meter)
