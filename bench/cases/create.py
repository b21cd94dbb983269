"""Agents and sessions created per second: a commit each."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

from bench.cases.streaming import crowd
from bench.client import at_a_time
from bench.figures import RATE, Row, number, spread
from bench.stage import Stage

MODEL = "fake-50"


async def rows(stage: Stage) -> AsyncIterator[Row]:
    api, count = stage.api, stage.size(400, 50)
    agent = await api.create_agent(MODEL)
    await api.create_session(agent)
    for width, agents, sessions in ((1, "299 / 283", "263 / 219"), (8, "237 / 268", "276 / 257")):
        yield await _row(f"create agents, {crowd(width)}", width, count, lambda: api.create_agent(MODEL), agents)
        yield await _row(f"create sessions, {crowd(width)}", width, count, lambda: api.create_session(agent), sessions)


async def _row(what: str, width: int, count: int, create: Callable[[], Awaitable[object]], peer: str) -> Row:
    async def timed(_: int) -> float:
        began = time.monotonic()
        await create()
        return time.monotonic() - began

    began = time.monotonic()
    found = spread(await at_a_time(width, count, timed))
    note = f"p50 {number(found.p50_ms)} ms, {found}"
    return Row(what, "created", count / (time.monotonic() - began), RATE, peer=peer, note=note)
