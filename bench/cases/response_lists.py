"""A page of responses when there are a hundred thousand: the newest, one from the depth, those of a model;
and whether paging reaches every one of many that share a second."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bench.client import Api, at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.multiply import multiply
from bench.stage import Stage

PAGE, NAME = 20, "responses"
MODELS = ("fake-50", "fake-200")


async def rows(stage: Stage) -> AsyncIterator[Row]:
    launcher, originals, stored = stage.own(), 100, stage.size(100_000, 2_000)
    async with launcher.run(NAME) as server:
        api = Api(stage.api.http, server.base)
        await at_a_time(2, originals, lambda number: api.whole_response(MODELS[number % 2]))
    await asyncio.to_thread(multiply, launcher, NAME, stored // originals - 1)
    async with launcher.run(NAME) as server:
        api = Api(stage.api.http, server.base)
        what = f"list {PAGE} of {stored:,} responses"
        deep = await _id_at(api, stored // 2)
        for place, query in (
            ("first page", ""),
            ("deep page", f"&after={deep}"),
            ("of a model", f"&model={MODELS[0]}"),
        ):
            pages = [await _page(api, query) for _ in range(stage.size(31, 6))]
            target = Target(8) if stored == 100_000 else None
            yield latency(what, place, [page.seconds for page in pages[1:]], target, peer="82")
        reached = await _reached(api, 300)
        yield Row(what, "reached by paging, of 300", reached, "", peer="119 of 298")


@dataclass(frozen=True, slots=True)
class _Page:
    seconds: float
    ids: list[str]


async def _page(api: Api, query: str, limit: int = PAGE) -> _Page:
    seconds, body = await api.timed_get(f"{api.responses}?limit={limit}{query}")
    found = json.loads(body)["data"]
    if len({one["id"] for one in found}) != limit or any(not one["output"] or not one["input"] for one in found):
        raise Broken(f"{query}: not {limit} whole responses")
    return _Page(seconds, [one["id"] for one in found])


async def _id_at(api: Api, place: int) -> str:
    """The id of a response from the depth, found by paging there; a page's place has no price, so five
    thousand are deep enough."""
    last = ""
    for _ in range(min(place, 5_000) // 100):
        last = (await _page(api, f"&after={last}" if last else "", 100)).ids[-1]
    return last


async def _reached(api: Api, count: int) -> int:
    seen: set[str] = set()
    last = ""
    while len(seen) < count:
        page = await _page(api, f"&after={last}" if last else "", PAGE)
        if seen & set(page.ids):
            raise Broken("a page repeats what was on one before")
        seen |= set(page.ids)
        last = page.ids[-1]
    return len(seen)
