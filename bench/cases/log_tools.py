"""Searches of the log by MCP at a million steps: one message each, as a coding agent sends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from statistics import median

from bench.cases.log_lists import BIRD, RARE
from bench.cases.log_numbers import sealed
from bench.client import Api
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.many import fill
from bench.stage import Stage

NAME = "log-tools"
TARGET_MS = 60.0
QUERIES: Mapping[str, Sequence[str]] = {
    "all": ("",),
    "by one facet": ("status:failed", "tool:tool_39", 'agent:"agent 49"', RARE),
    "by words": ("word0", "word2999", '"word1 word0"', BIRD, "nothere"),
    "by words and a facet": (f"word0 {RARE}", "word2999 status:failed"),
    "by the same step": ("step(tool:tool_39 status:failed)",),
}


async def rows(stage: Stage) -> AsyncIterator[Row]:
    steps, times = stage.size(1_000_000, 50_000), stage.size(12, 3)
    launcher, name = stage.own(), f"{NAME}-{steps}"
    await asyncio.to_thread(fill, launcher.folder / name, steps, texts=True)
    await launcher.copy_to_postgresql(name)
    async with launcher.run(name) as server:
        api = Api(stage.api.http, server.base)
        await sealed(launcher, name)
        for level in ("turn", "step"):
            for figure, queries in QUERIES.items():
                slowest, found = await _slowest(api, level, queries, times)
                goal = None if stage.quick else Target(TARGET_MS)
                what = f"search of {level}s by MCP, {steps:,} steps"
                yield latency(what, figure, found, goal, note=slowest or "all")


async def _slowest(api: Api, level: str, queries: Sequence[str], times: int) -> tuple[str, list[float]]:
    """Of queries, the one whose median is the longest: (what it asks, its times)."""
    found = []
    for query in queries:
        asked = [await _searched(api, level, query) for _ in range(times)]
        found.append((query, asked[1:]))
    return max(found, key=lambda each: median(each[1]))


async def _searched(api: Api, level: str, query: str) -> float:
    """Seconds of a search, whose answer must be what a tool answers."""
    params = {"name": "search_log", "arguments": {"query": query, "level": level}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    began = asyncio.get_running_loop().time()
    async with api.open("POST", f"{api.base}/mcp", message) as response:
        body = await response.read()
    seconds = asyncio.get_running_loop().time() - began
    result = json.loads(body).get("result", {})
    if result.get("isError", False) or not result.get("content"):
        raise Broken(f"{level} {query}: {body[:160]!r}")
    return seconds
