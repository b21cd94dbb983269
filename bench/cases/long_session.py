"""A session of a thousand turns beside one of ten: a turn's price must not grow with its history,
and reading the session must stay quick."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

from bench.client import Place, check_answers
from bench.faults import Broken
from bench.figures import Row, Target, latency, spread
from bench.stage import Stage
from bench.streams import Timing

MODEL = "fake-50"
SHORT, LONG, MEASURED = 10, 1000, 15
PEERS = {"read": "106", "short": "50", "long": "687", "ratio": "13.6"}


async def rows(stage: Stage) -> AsyncIterator[Row]:
    length = stage.size(LONG, LONG // 10)
    peers = PEERS if length == LONG else dict.fromkeys(PEERS, "")
    agent = await stage.api.create_agent(MODEL)
    short, long = await stage.api.sessions(agent, 2)
    await _turns(stage, short, SHORT)
    await _turns(stage, long, length)
    seconds = [await _read(stage, long, length) for _ in range(MEASURED)]
    yield latency(f"read a session of {length:,} turns", "whole answer", seconds, Target(40), peer=peers["read"])
    few, many = await _side_by_side(stage, short, long)
    yield latency(f"turn in a session of {SHORT}", "whole stream", few, peer=peers["short"])
    yield latency(f"turn in a session of {length:,}", "whole stream", many, peer=peers["long"])
    ratio = spread(many).p50_ms / spread(few).p50_ms
    yield Row(f"turn in a session of {length:,}", f"times one of {SHORT}", ratio, "×", Target(2), peers["ratio"])


async def _side_by_side(stage: Stage, *places: Place) -> Sequence[list[float]]:
    """Seconds of turns in each place, made by turns: a slow moment of the machine hits all."""
    seconds: Sequence[list[float]] = [[] for _ in places]
    for _ in range(stage.size(MEASURED, 5)):
        for place, found in zip(places, seconds, strict=True):
            found += [timing.total_s for timing in await _turns(stage, place, 1)]
    return seconds


async def _turns(stage: Stage, place: Place, count: int) -> list[Timing]:
    timings = [await stage.api.turn(place, MODEL) for _ in range(count)]
    check_answers(timings[-1:], MODEL)
    return timings


async def _read(stage: Stage, place: Place, turns: int) -> float:
    seconds, body = await stage.api.timed_get(stage.api.session_url(place))
    found = {turn["turn_id"] for turn in json.loads(body)["turns"]}
    if len(found) != turns:
        raise Broken(f"the session has {len(found)} turns, {turns} were made")
    return seconds
