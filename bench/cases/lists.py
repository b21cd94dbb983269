"""Lists of agents and of one agent's sessions when there are ten thousand: a page must cost what
its 50 rows cost, wherever it lies."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from bench.client import at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.stage import Stage

PAGE = 50
MODEL = "fake-50"


async def rows(stage: Stage) -> AsyncIterator[Row]:
    api, stored = stage.api, stage.size(10_000, 500)
    agent = await api.create_agent(MODEL)
    await at_a_time(8, stored - 1, lambda _: api.create_agent(MODEL))
    await at_a_time(8, stored, lambda _: api.create_session(agent))
    for what, url, peer in (
        ("agents", api.agents, "1,137 of 1,411"),
        ("sessions", f"{api.agents}/{agent}/sessions", "14 of 1,000"),
    ):
        for start in (0, stored - PAGE):
            seconds = [await _page(stage, f"{url}?limit={PAGE}&start_index={start}") for _ in range(16)]
            place = "first page" if start == 0 else "last page"
            name = f"list {PAGE} of {stored:,} {what}"
            yield latency(name, place, seconds[1:], Target(10), peer="" if start or stage.quick else peer)


async def _page(stage: Stage, url: str) -> float:
    seconds, body = await stage.api.timed_get(url)
    ids = {one.get("agent_id") or one.get("session_id") for one in json.loads(body)["data"]}
    if len(ids) != PAGE:
        raise Broken(f"{url}: {len(ids)} different rows, not {PAGE}")
    return seconds
