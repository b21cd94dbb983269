"""Pages of the log's lists at a million steps: the newest, one from the depth, and under filters of every
kind, at all four levels; and, as a case of its own, at ten million."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from statistics import median
from urllib.parse import quote, unquote

from bench.cases.log_numbers import sealed
from bench.client import Api
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.many import fill
from bench.stage import Stage

NAME = "log-lists"
PAGE = 50
LEVELS = ("turns", "sessions", "steps", "responses")
BIRD = "青い鳥"
MIDDLE = "started:<2026-08-26"
"""Half way down."""
_FACETS = (
    'agent:"agent 49"',
    'agent:"agent 0"',
    "model:model-11",
    "status:interrupted",
    "status:failed",
    "type:tool",
    "tool:tool_39",
    "source:native",
    "user:user-199",
    "tag:vip",
    "tag:tag-59",
)
RARE = "tag:tag-59"
QUERIES: Mapping[str, tuple[float | None, Sequence[str]]] = {
    "one facet": (50, _FACETS),
    "metadata": (80, ("meta.customer.tier:tier-0", "meta.customer.tier:tier-29")),
    "words": (80, ("word0", "word2999", '"word1 word0"', "word299*", BIRD, "word5 word700", "in:kettle", "nothere")),
    "words and a facet": (80, (f"word0 {RARE}", "word2999 status:failed", "word0 status:interrupted user:user-199")),
    "the same step": (
        80,
        ("step(tool:tool_3 status:failed)", "step(tool:tool_39 status:failed)"),
    ),
    "counted": (80, ("count(step)>8", "count(step: tool:tool_39)>1")),
    "some turn": (
        80,
        ("turn(status:failed)", "last(turn)(status:interrupted)", "turn(status:interrupted user:user-199)"),
    ),
    "an argument": (80, ('args.path:"/etc/word2999/*"',)),
    "slow and dear": (None, ("duration:>20s", "cost:>$0.004 duration:>15s", "error:timeout")),
}
"""By what is asked: milliseconds at most, and the queries."""
INSIDE = "*ord299"
NEWEST = "first page"


async def rows(stage: Stage) -> AsyncIterator[Row]:
    async for row in measured(stage, stage.size(1_000_000, 50_000)):
        yield row


async def large(stage: Stage) -> AsyncIterator[Row]:
    async for row in measured(stage, stage.size(10_000_000, 100_000)):
        yield row


async def measured(stage: Stage, steps: int) -> AsyncIterator[Row]:
    launcher, name = stage.own(), f"{NAME}-{steps}"
    await asyncio.to_thread(fill, launcher.folder / name, steps, texts=True)
    slower = 2 if steps > 1_000_000 else 1
    await launcher.copy_to_postgresql(name)
    async with launcher.run(name) as server:
        api = Api(stage.api.http, server.base)
        await sealed(launcher, name)
        for level in LEVELS:
            what, times = f"list {PAGE} of {level}, {steps:,} steps", stage.size(8, 3)
            for figure, target, queries in await _asked(api, level):
                slowest = await _slowest(api, level, queries, times)
                more = 1 if figure == NEWEST else slower
                goal = None if stage.quick or target is None else Target(target * more)
                yield latency(what, figure, slowest[1], goal, note=f"{slowest[0] or 'all'}, {slowest[2]} rows")


async def _asked(api: Api, level: str) -> Sequence[tuple[str, float | None, Sequence[str]]]:
    """(figure, target, what is asked): of pages from the depth, what the URL needs besides."""
    deep, rare = [await _behind(api, level, query) for query in (MIDDLE, f"{RARE} {MIDDLE}")]
    places = [(NEWEST, 25.0, ["q="]), ("deep page", 25.0, [deep, f"{deep}&order=asc"])]
    kinds = [
        (f"by {kind}", most, [f"q={quote(each)}" for each in queries]) for kind, (most, queries) in QUERIES.items()
    ]
    last = [("deep page, one facet", 50.0, [f"{rare}&q={quote(RARE)}"]), ("mid-word", None, [f"q={quote(INSIDE)}"])]
    return [*places, *kinds, *last]


async def _behind(api: Api, level: str, query: str) -> str:
    """What a URL needs to begin behind the first row of a query."""
    found = json.loads(await _read(api, level, f"q={quote(query)}&limit=1"))
    return f"after={found['first_id']}"


async def _slowest(api: Api, level: str, queries: Sequence[str], times: int) -> tuple[str, list[float], int]:
    """Of queries, the one whose median is the longest: (what it asks, its times, its rows)."""
    found = []
    for query in queries:
        asked = [await _page(api, level, query) for _ in range(times)]
        found.append((unquote(query), [seconds for seconds, _ in asked[1:]], asked[0][1]))
    return max(found, key=lambda each: median(each[1]))


async def _page(api: Api, level: str, query: str) -> tuple[float, int]:
    """(seconds, rows) of a page, whose rows must stand in the order of time, each once."""
    seconds, body = await api.timed_get(f"{api.base}/v1/logs/{level}?limit={PAGE}&{query}")
    ids = [row["id"] for row in json.loads(body)["data"]]
    if ids != sorted(set(ids), reverse="order=asc" not in query):
        raise Broken(f"{level} {query}: rows out of order")
    return seconds, len(ids)


async def _read(api: Api, level: str, query: str) -> bytes:
    return (await api.timed_get(f"{api.base}/v1/logs/{level}?{query}"))[1]
