"""Facets, histogram and statistics of a million steps, under filters of every kind, once the
server has sealed them into columns; and, as a case of its own, those of ten million."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from urllib.parse import quote

from bench.client import Api
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.many import fill
from bench.server import Launcher
from bench.stage import Stage

NAME = "log-numbers"
TARGET_MS = 200
"""At a million steps; twice of that at ten million."""
FACETS = "by=status,agent,model,type,tool,source"
FILTERS = (
    "",
    "status:failed",
    "duration:>5s cost:>$0.001",
    "-status:completed model:model-1",
    "tool:tool_3",
    "step(tool:tool_1 status:failed)",
    "tag:vip",
    "kettle",
)
SEALED_S = 900.0
NOT_SEALED = """
SELECT count(*) FROM agents_turn WHERE id > (SELECT COALESCE(max(high), 0) FROM agents_segment WHERE live)
"""


async def rows(stage: Stage) -> AsyncIterator[Row]:
    async for row in measured(stage, stage.size(1_000_000, 50_000)):
        yield row


async def large(stage: Stage) -> AsyncIterator[Row]:
    async for row in measured(stage, stage.size(10_000_000, 100_000)):
        yield row


async def measured(stage: Stage, steps: int) -> AsyncIterator[Row]:
    launcher, name = stage.own(), f"{NAME}-{steps}"
    await asyncio.to_thread(fill, launcher.folder / name, steps)
    target = Target(TARGET_MS * (2 if steps > 1_000_000 else 1)) if not stage.quick else None
    await launcher.copy_to_postgresql(name)
    async with launcher.run(name) as server:
        api = Api(stage.api.http, server.base)
        await sealed(launcher, name)
        for text in FILTERS:
            q, what = quote(text), f"numbers of {steps:,} steps, {text or 'all'}"
            total = await _total(api, q)
            for figure, url in (
                ("facets", f"/v1/logs/turns/facets?{FACETS}&q={q}"),
                ("histogram", f"/v1/logs/turns/histogram?q={q}"),
                ("statistics", f"/v1/logs/turns/stats?q={q}"),
            ):
                seconds = [await _asked(api, f"{server.base}{url}", total) for _ in range(stage.size(8, 3))]
                yield latency(what, figure, seconds[1:], target)


async def sealed(launcher: Launcher, store: str) -> None:
    """Wait until less than a few thousand turns are left to the rows."""
    loop = asyncio.get_running_loop()
    until = loop.time() + SEALED_S
    while loop.time() < until:
        [[left]] = await asyncio.to_thread(launcher.query, store, NOT_SEALED)
        if left < 4096:
            return
        await asyncio.sleep(1)
    raise Broken(f"{left:,} turns are not sealed yet")


async def _total(api: Api, q: str) -> int:
    _, body = await api.timed_get(f"{api.base}/v1/logs/turns/stats?q={q}")
    return int(json.loads(body)["data"]["count"])


async def _asked(api: Api, url: str, total: int) -> float:
    """How long an answer takes; its parts must sum up to the whole."""
    seconds, body = await api.timed_get(url)
    answer = json.loads(body)
    found = answer.get("total")
    if "facets" in url:
        model = next(facet for facet in answer["data"] if facet["field"] == "source")
        found = sum(value["count"] for value in model["values"]) + model["absent"]
    if "stats" in url:
        found = answer["data"]["count"]
    if found != total:
        raise Broken(f"{url}: {found} rows, not {total}")
    return seconds
