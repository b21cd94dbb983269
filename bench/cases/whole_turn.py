"""A turn that is not streamed: the same stream, drained on the server."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases.streaming import WARM_UP, beside_endpoint, crowd
from bench.client import at_a_time
from bench.figures import Row, latency
from bench.stage import Stage

MODEL = "fake-50"


async def rows(stage: Stage) -> AsyncIterator[Row]:
    api, count = stage.api, stage.size(100, 20)
    agent = await api.create_agent(MODEL)
    places = await api.sessions(agent, count + WARM_UP)
    for place in places[count:]:
        await api.whole_turn(place, MODEL)
    with stage.meter() as meter:
        seconds = await at_a_time(1, count, lambda number: api.whole_turn(places[number], MODEL))
    what = f"turn without streaming, {MODEL}, {crowd(1)}"
    yield latency(what, "whole answer", seconds, peer="501")
    if meter.cpu_s is not None:
        yield Row(what, "server CPU per turn", 1000 * meter.cpu_s / count, "ms")
    for row in beside_endpoint(what, meter):
        yield row
