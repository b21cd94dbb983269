"""A turn that stops for a tool of the client, and goes on with its answer: two streams, two
inferences, three steps."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from bench.cases.streaming import WARM_UP, beside_endpoint, crowd
from bench.client import Place, at_a_time, check_answers, turn_of
from bench.faults import Broken
from bench.figures import SECOND, Row, Target, latency
from bench.stage import Stage
from bench.streams import Timing

MODEL = "fake-tool-50"
TOOL = {
    "name": "lookup",
    "description": "Look something up.",
    "parameters": [{"name": "query", "parameter_type": "string", "description": "text", "required": True}],
}
FOUND = "what the lookup found " * 4


async def rows(stage: Stage) -> AsyncIterator[Row]:
    for width, peer in ((1, "107 / 751"), (8, "617 / 978")):
        async for row in _rows(stage, width, stage.size(64, 16), peer):
            yield row


async def _rows(stage: Stage, width: int, count: int, peer: str) -> AsyncIterator[Row]:
    agent = await stage.api.create_agent(MODEL, client_tools=[TOOL])
    places = await stage.api.sessions(agent, count + WARM_UP)
    await at_a_time(2, WARM_UP, lambda number: _both(stage, places[count + number]))
    with stage.meter() as meter:
        pairs = await at_a_time(width, count, lambda number: _both(stage, places[number]))
    check_answers([last for _, _, last in pairs], MODEL)
    what = f"client tool turn and resume, {MODEL}, {crowd(width)}"
    yield latency(what, "both streams", [seconds for seconds, _, _ in pairs], peer=peer)
    yield latency(what, "first event", [first.first_event_s for _, first, _ in pairs])
    if meter.cpu_s is not None:
        target = Target(12, set_at=SECOND)
        peer = "65 / 115" if width == 1 else ""
        yield Row(what, "server CPU per turn", 1000 * meter.cpu_s / count, "ms", target, peer)
    for row in beside_endpoint(what, meter):
        yield row


async def _both(stage: Stage, place: Place) -> tuple[float, Timing, Timing]:
    """(seconds, the stream that ends in a call, the stream that ends in the answer)."""
    began = time.monotonic()
    first = await stage.api.turn(place, MODEL, tokens=0)
    turn = turn_of(first)
    calls = turn["output_message"]["tool_calls"]
    if [call["tool_name"] for call in calls] != [TOOL["name"]]:
        raise Broken(f"one call of {TOOL['name']} is due, there are: {calls}")
    responses = [{"call_id": call["call_id"], "tool_name": call["tool_name"], "content": FOUND} for call in calls]
    last = await stage.api.resume(place, turn["turn_id"], responses, MODEL)
    return time.monotonic() - began, first, last
