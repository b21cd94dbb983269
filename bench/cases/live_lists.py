"""Ten open lists while two hundred events a second come in: how long it takes from the end of a turn to
the row that says so, and whether every list was told of every turn it accepts, and of no other."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import aiohttp

from bench.client import Api, Place
from bench.faults import Broken
from bench.figures import CPU_SHARE, SECOND, Row, Target, latency
from bench.stage import Stage

SOCKETS, PER_S, EVENTS = 10, 25, 8
"""Turns a second; one that calls a tool has eight events."""
SETTLED_S = 3.0
SLOWEST, BUSY = Target(100, set_at=SECOND), Target(30, set_at=SECOND)
SCRIPT = '!script\ncall get_weather {"city": "Oslo"}\nthen\nsay It rains.'
DONE = 'data-status="completed"'


async def rows(stage: Stage) -> AsyncIterator[Row]:
    api, turns = stage.api, stage.size(500, 75)
    agents = [await api.create_agent("scripted/fast", toolgroups=["builtin::demo"]) for _ in range(4)]
    places = [await api.create_session(agent) for agent in agents for _ in range(16)]
    watched = agents[:2]
    query = f"agent:({' OR '.join(watched)}) status:completed"
    lists = [_List(api) for _ in range(SOCKETS)]
    await asyncio.gather(*(each.open(query) for each in lists))
    tasks = [asyncio.create_task(each.read()) for each in lists]
    with stage.meter() as meter:
        began = time.monotonic()
        await asyncio.gather(*(_turn(api, places[number % len(places)], number) for number in range(turns)))
        lasted = time.monotonic() - began
        await asyncio.sleep(SETTLED_S)
    for each, task in zip(lists, tasks, strict=True):
        await each.close(task)
    ended = await _ended(api, query)
    if any(set(each.told) != set(ended) for each in lists):
        raise Broken(f"of {len(ended)} turns lists were told of {sorted(len(each.told) for each in lists)}")
    what = f"{SOCKETS} live lists, {PER_S * EVENTS} events a second"
    waits = [told - ended[turn] for each in lists for turn, told in each.told.items()]
    slowest_goal, busy_goal = (None, None) if stage.quick else (SLOWEST, BUSY)
    came = f"{turns * EVENTS / lasted:.0f} a second came"
    yield latency(what, "from a turn's end to its row", waits, note=came)
    slowest = sorted(waits)[round(0.95 * (len(waits) - 1))] * 1000
    yield Row(what, "the same, 95th percentile", slowest, "ms", slowest_goal)
    if meter.cpu_s is not None:
        yield Row(what, "server CPU", 100 * meter.cpu_s / (lasted + SETTLED_S), CPU_SHARE, busy_goal)


async def _turn(api: Api, place: Place, number: int) -> None:
    await asyncio.sleep(number / PER_S)
    await api.ask("POST", f"{api.session_url(place)}/turn", {"messages": [{"role": "user", "content": SCRIPT}]})


async def _ended(api: Api, query: str) -> dict[str, float]:
    """By turn, when it ended."""
    async with api.http.get(f"{api.base}/v1/logs/turns", params={"q": query, "limit": "1000"}) as response:
        found: list[dict[str, Any]] = json.loads(await response.read())["data"]
    return {row["id"]: datetime.fromisoformat(row["completed_at"]).timestamp() for row in found}


class _List:
    """A list that is open, as HTML, and when it was first told of the end of a turn."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.told: dict[str, float] = {}

    async def open(self, query: str) -> None:
        self._socket = await self._api.http.ws_connect(
            f"{self._api.base.replace('http', 'ws', 1)}/ws/live", max_msg_size=0
        )
        wanted = {"op": "subscribe", "id": 1, "topic": "logs", "level": "turns", "q": query, "as": "html"}
        await self._socket.send_str(json.dumps(wanted))
        while json.loads((await self._socket.receive()).data)["op"] != "live":
            pass

    async def read(self) -> None:
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            now, frame = time.time(), json.loads(message.data)
            for event in frame.get("events", ()):
                if event["type"] == "row" and DONE in event["html"]:
                    self.told.setdefault(event["id"], now)

    async def close(self, reading: asyncio.Task[None]) -> None:
        await self._socket.close()
        await reading
