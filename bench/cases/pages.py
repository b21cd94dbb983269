"""Pages at a million steps in a real Chromium: until something is painted, until a key has done what it is for;
beside each the server's own time for the same request."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from bench.browser import Reader, Wait, chromium, reader
from bench.cases.log_numbers import sealed
from bench.client import Api, turn_of
from bench.faults import Broken
from bench.figures import Row, Target, latency, number, spread
from bench.many import DAY_US, DAYS, fill
from bench.stage import Stage
from bench.streams import TURN, read_stream

NAME = "pages"
PAGE, PAGE_STEPS, MAX_GROUPS = 50, 200, 200
"""Rows of a list, steps of a turn's page, rows of a list in groups."""
FILTERS = ('agent:"agent 0"', "tag:tag-59", "status:failed", "word0")
TURNS = (10, 500)
"""Steps of turns whose pages are painted."""
NUMBERS_COME = "[data-part][aria-busy=true]"
OPTION = "#suggestions:not([hidden]) [role=option]:not([hidden])"
PATHS = ("args.path:",)
"""What the tools of the store were called with."""


@dataclass(frozen=True, slots=True)
class List:
    """A list under a query, in the order that ``sort`` says: ``-cost``, or nothing for the newest first."""

    title: str
    level: str
    text: str = ""
    sort: str = ""

    @property
    def url(self) -> str:
        path = "logs" if self.level == "turns" else self.level
        return f"/{path}/?{self.parameters}"

    @property
    def parameters(self) -> str:
        return f"q={quote(self.text)}" + (f"&sort={self.sort}" if self.sort else "")


LISTS = (
    List("turns, the newest", "turns"),
    List("turns of an agent", "turns", 'agent:"agent 49"'),
    List("turns by words", "turns", "word5 word700"),
    List("failed turns", "turns", "status:failed"),
    List("sessions", "sessions"),
    List("steps", "steps"),
    List("responses", "responses"),
)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    launcher, steps = stage.own(), stage.size(1_000_000, 50_000)
    what = f"pages, {steps:,} steps"
    chromium()  # before a store is made in vain
    # its newest turns have just been, as those of the overview must have
    start_us = time.time_ns() // 1000 - DAYS * DAY_US
    await asyncio.to_thread(fill, launcher.folder / NAME, steps, texts=True, start_us=start_us)
    await launcher.copy_to_postgresql(NAME)
    async with launcher.run(NAME) as server, reader(server.base) as open_page:
        await sealed(launcher, NAME)
        pages = _Pages(Api(stage.api.http, server.base), open_page, stage.size(5, 2))
        for listed in LISTS:
            waits, note = await pages.painted(listed)
            yield _seen(stage, what, f"first paint: {listed.title}", 200, waits, note)
        waits, note = await pages.overview()
        yield _seen(stage, what, "first paint: overview", 200, waits, note)
        for text in FILTERS:
            waits, note = await pages.painted(List(text, "turns", text, "-cost"))
            yield _served(stage, what, f"server's answer: by cost, {text}", 50, waits, note)
        for text in ("", FILTERS[0]):
            waits, note = await pages.groups(text)
            yield _served(stage, what, f"server's answer: by agent and day, {text or 'all'}", 200, waits, note)
        waits, note = await pages.next_rows(stage.size(20, 5))
        yield _seen(stage, what, "next row in the panel", 100, waits, note)
        waits, note = await pages.completion()
        yield _seen(stage, what, "proposals for args.", 250, waits, note)
        for count in TURNS:
            waits, note = await pages.turn(count)
            yield _seen(stage, what, f"first paint: a turn of {count} steps", 300, waits, note)


def _seen(stage: Stage, what: str, figure: str, most: float, waits: Sequence[Wait], note: str) -> Row:
    """How long a reader waits."""
    served = f"server {number(spread([wait.server_s for wait in waits]).p50_ms)} ms"
    goal = None if stage.quick else Target(most)
    return latency(what, figure, [wait.seen_s for wait in waits], goal, note=f"{served}; {note}")


def _served(stage: Stage, what: str, figure: str, most: float, waits: Sequence[Wait], note: str) -> Row:
    """How long the server takes."""
    seen = f"first paint {number(spread([wait.seen_s for wait in waits]).p50_ms)} ms"
    goal = None if stage.quick else Target(most)
    return latency(what, figure, [wait.server_s for wait in waits], goal, note=f"{seen}; {note}")


class _Pages:
    """The pages of one server in one browser. Each method returns what was waited for ``times`` times, after
    once that is not counted, and a note on what was seen, which it has checked."""

    def __init__(self, api: Api, reader: Reader, times: int) -> None:
        self._api, self._reader, self._times = api, reader, times

    async def painted(self, listed: List) -> tuple[list[Wait], str]:
        """A list: the rows that the API has, and their count."""
        data = await self._data(f"{listed.level}?limit={PAGE}&{listed.parameters}")
        wanted = [row["id"] for row in data]
        if not wanted:
            raise Broken(f"{listed.url}: there is nothing")
        if listed.sort and [row["cost_usd"] for row in data] != sorted((row["cost_usd"] for row in data), reverse=True):
            raise Broken(f"{listed.url}: rows out of order")
        waits = []
        for _ in range(self._times + 1):
            waits.append(await self._reader.visit(listed.url))
            row_ids = await self._reader.values("[data-rows] > tr", "data-id")
            if row_ids != wanted:
                raise Broken(f"{listed.url}: {len(row_ids)} rows, not the {len(wanted)} of the API")
            await self._reader.gone(NUMBERS_COME)  # the next page must not wait for what this one counts
        count = (await self._data(f"{listed.level}/stats?q={quote(listed.text)}"))["count"]
        [summed, *_] = await self._reader.values("[data-part=sums] dd", "title")
        if summed != str(count):
            raise Broken(f"{listed.url}: {summed} rows in all, not {count}")
        return waits[1:], f"{len(wanted)} rows of {count:,}"

    async def overview(self) -> tuple[list[Wait], str]:
        """The overview of a day: its turns are counted as the list that it leads to."""
        waits = []
        for _ in range(self._times + 1):
            waits.append(await self._reader.visit("/"))
            await self._reader.gone(NUMBERS_COME)
        link = self._reader.page.locator(".figures a").first
        counted, url = await link.inner_text(), await link.get_attribute("href") or ""
        [text] = parse_qs(urlsplit(url).query)["q"]
        count = (await self._data(f"turns/stats?q={quote(text)}"))["count"]
        if counted != f"{count:,}" or not count:
            raise Broken(f"overview: {counted} turns, not {count:,}")
        return waits[1:], f"{counted} turns of a day"

    async def groups(self, text: str) -> tuple[list[Wait], str]:
        """A list in groups: as many rows as there are groups, and the count of all."""
        stats, query = await self._read(f"turns/stats?by=agent,day&limit=10000&q={quote(text)}"), quote(text)
        count, url = len(stats["groups"]), f"/logs/groups/?by=agent,day&q={query}"
        waits = []
        for _ in range(self._times + 1):
            waits.append(await self._reader.visit(url))
            row_count = await self._reader.count(".groups-rows tbody tr")
            total = await self._reader.page.locator(".groups-rows tfoot td").first.inner_text()
            if row_count != min(count, MAX_GROUPS) or total != f"{stats['data']['count']:,}":
                raise Broken(
                    f"{url}: {row_count} rows of {count} groups, {total} turns, not {stats['data']['count']:,}"
                )
        return waits[1:], f"{row_count} of {count:,} groups"

    async def next_rows(self, times: int) -> tuple[list[Wait], str]:
        """From row to row beside the open panel, whose turn must be the row's, with as many steps."""
        turns = await self._data(f"turns?limit={PAGE}")
        await self._reader.visit("/logs/")
        await self._reader.gone(NUMBERS_COME)
        await self._reader.page.keyboard.press("j")
        waits = []
        for key, turn in [("Enter", turns[0]), *(("j", turn) for turn in turns[1 : times + 1])]:
            panel = f'[data-peek-panel]:not([hidden]) [data-peek-of="{turn["id"]}"]'
            waits.append(await self._reader.press(key, panel, f"/turns/{turn['id']}/peek/"))
            step_count, steps = await self._reader.count(f"{panel} [data-step]"), turn["counts"]["steps"]
            if step_count != steps:
                raise Broken(f"panel of {turn['id']}: {step_count} steps, not {steps}")
        return waits[1:], f"{sum(turn['counts']['steps'] for turn in turns[1 : times + 1]):,} steps in all"

    async def completion(self) -> tuple[list[Wait], str]:
        """From the dot behind ``args`` to the paths there are."""
        await self._reader.visit("/logs/")
        await self._reader.gone(NUMBERS_COME)
        bar, waits = self._reader.page.locator("[data-query-bar] input[name=q]"), []
        for _ in range(self._times + 1):
            await bar.fill("")
            await bar.press_sequentially("args")
            proposed = f'{OPTION}[data-insert="{PATHS[0]}"]'
            waits.append(await self._reader.press(".", proposed, "/logs/complete/"))
            proposals = await self._reader.values(OPTION, "data-insert")
            if proposals != [*PATHS]:
                raise Broken(f"args. is completed by {proposals}")
        return waits[1:], ", ".join(PATHS)

    async def turn(self, steps: int) -> tuple[list[Wait], str]:
        """A new turn of so many steps, all of them on its page or as many as that has."""
        turn, waits, most = await self._make(steps), [], min(steps, PAGE_STEPS)
        for _ in range(self._times + 1):
            waits.append(await self._reader.visit(f"/turns/{turn}/"))
            step_count = await self._reader.count(f"[data-turn='{turn}'] [data-steps] [data-step]")
            if step_count != most:
                raise Broken(f"turn of {steps} steps: {step_count} of them, not {most}")
        return waits[1:], f"{most} steps on the page"

    async def _make(self, steps: int) -> str:
        """A turn of so many steps, an even number: rounds of a call each, the first of two, and an answer."""
        call = 'call get_weather {"city": "Oslo"}'
        script = "\n".join(["!script", call, *[f"{call}\nthen"] * (steps // 2 - 1), "say It rains."])
        options = {"toolgroups": ["builtin::demo"], "max_infer_iters": steps}
        place = await self._api.create_session(await self._api.create_agent("scripted/fast", **options))
        body = {"messages": [{"role": "user", "content": script}], "stream": True}
        # each call takes a fifth of a second: an answer in one piece would come too late for the client
        async with self._api.open("POST", f"{self._api.session_url(place)}/turn", body) as response:
            turn = turn_of(await read_stream(response, TURN, time.monotonic()))
        if len(turn["steps"]) != steps:
            raise Broken(f"a turn has {len(turn['steps'])} steps, not {steps}")
        return str(turn["turn_id"])

    async def _data(self, path: str) -> Any:
        return (await self._read(path))["data"]

    async def _read(self, path: str) -> Any:
        return json.loads((await self._api.timed_get(f"{self._api.base}/v1/logs/{path}"))[1])
