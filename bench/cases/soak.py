"""Everything at once for an hour or more: memory, open files and the log of the database must be at the end what they
were when the server was warm. With PostgreSQL two processes share the work, and who watches is often not where the
turn runs."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.cases.client_tools import FOUND, TOOL
from bench.cases.ingest import PROTOBUF, report
from bench.client import Api, Place, check_answers, turn_of
from bench.faults import Broken
from bench.figures import Row, Target
from bench.processes import memory_mb
from bench.server import Launcher, Server, Store
from bench.sockets import Watcher, faults, seen
from bench.stage import Stage

CALLERS, PAUSE_S, SAMPLE_S = 8, 0.05, 5.0
WARM, LAST = 0.2, 0.8
"""What is compared: the fifth of the time that ends the warming, and the last fifth."""
TEXT, PACED, TOOLS = "fake-200", "fake-100-d10", "fake-tool-50"
PAGES = ("/logs/", "/sessions/", "/agents/", "/v1/logs/turns?limit=50", "/v1/logs/sessions/facets", "/metrics")
GROWTH, MORE_FILES = Target(10), Target(5)
WAL_MB = {False: Target(64), True: Target(1200)}
"""SQLite starts its log anew at a few MB; PostgreSQL keeps a gibibyte (``max_wal_size``)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the processes hold at a time, from 0 to 1 of the whole: MB, open files, MB of the database's log."""

    place: float
    memory: float
    files: int
    wal: float


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own, seconds = stage.own(), stage.minutes * 60
    stores = [Store("soak", own.on_postgresql, number) for number in range(2 if own.on_postgresql else 1)]
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(own.serve(store)) for store in stores]
        samples, done = await _soaked(stage, own, servers, seconds)
    what = f"{CALLERS} callers of everything, {stage.minutes:g} min, {len(stores)} process{'es' * (len(stores) > 1)}"
    warm = [sample for sample in samples if WARM <= sample.place < 2 * WARM]
    last = [sample for sample in samples if sample.place >= LAST]
    before, after = (median(sample.memory for sample in part) for part in (warm, last))
    note = f"{before:.0f} MB when warm, {after:.0f} at the end, peak {max(sample.memory for sample in samples):.0f}"
    yield Row(what, "growth of resident memory", 100 * (after / before - 1), "%", GROWTH, note=note)
    opened, open_now = (median(sample.files for sample in part) for part in (warm, last))
    note = f"{opened:.0f} when warm, {open_now:.0f} at the end"
    yield Row(what, "more open files and sockets", open_now - opened, "", MORE_FILES, note=note)
    wal = max(sample.wal for sample in samples)
    note = f"{median(sample.wal for sample in last):.0f} MB at the end"
    yield Row(what, "the database's log, at most", wal, "MB", WAL_MB[own.on_postgresql], note=note)
    yield Row(what, "done", sum(done.values()), "", note=", ".join(f"{count:,} {name}" for name, count in done.items()))


async def _soaked(
    stage: Stage, own: Launcher, servers: Sequence[Server], seconds: float
) -> tuple[list[Sample], Counter[str]]:
    apis = [Api(stage.api.http, server.base) for server in servers]
    began, done, samples = time.monotonic(), Counter[str](), list[Sample]()
    agents = {model: await apis[0].create_agent(model) for model in (TEXT, PACED)}
    agents[TOOLS] = await apis[0].create_agent(TOOLS, client_tools=[TOOL])

    async def call(number: int) -> None:
        caller = _Caller(apis, agents, random.Random(number))
        while time.monotonic() - began < seconds:
            done[await caller.once()] += 1
            await asyncio.sleep(PAUSE_S)

    async def sample() -> None:
        while (passed := time.monotonic() - began) < seconds:
            memory = sum(memory_mb(server.pid) for server in servers)
            files = sum(len(os.listdir(f"/proc/{server.pid}/fd")) for server in servers)
            samples.append(Sample(passed / seconds, memory, files, await asyncio.to_thread(_wal_mb, own)))
            await asyncio.sleep(min(SAMPLE_S, seconds / 50))

    async with asyncio.TaskGroup() as group:
        for number in range(CALLERS):
            group.create_task(call(number))
        group.create_task(sample())
    return samples, done


def _wal_mb(own: Launcher) -> float:
    if own.on_postgresql:
        return float(own.databases.query("soak", "SELECT COALESCE(sum(size), 0) FROM pg_ls_waldir()")[0][0]) / 2**20
    with suppress(FileNotFoundError):  # SQLite takes the file away when it has written all of it back
        return sum(path.stat().st_size for path in Path(own.folder, "soak").glob("*.sqlite3-wal")) / 2**20
    return 0.0


class _Caller:
    """Does one thing after the other, each on a process picked at random. What is answered must be right."""

    def __init__(self, apis: Sequence[Api], agents: dict[str, str], chance: random.Random) -> None:
        self._apis, self._agents, self._chance = apis, agents, chance
        self._count = 0
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "turns": self._turn,
            "responses": self._response,
            "resumes": self._resume,
            "watched": self._watched,
            "abandoned": self._abandoned,
            "pages": self._page,
            "reports": self._report,
            "deletions": self._deletion,
        }

    async def once(self) -> str:
        """Do one thing; returns what it is."""
        self._count += 1
        name = self._chance.choice(list(self._kinds))
        await self._kinds[name]()
        return name

    @property
    def _api(self) -> Api:
        return self._chance.choice(self._apis)

    async def _place(self, model: str) -> Place:
        return await self._api.create_session(self._agents[model])

    async def _turn(self) -> None:
        check_answers([await self._api.turn(await self._place(TEXT), TEXT)], TEXT)

    async def _response(self) -> None:
        await self._api.whole_response(TEXT)

    async def _resume(self) -> None:
        place = await self._place(TOOLS)
        turn = turn_of(await self._api.turn(place, TOOLS, tokens=0))
        calls = turn["output_message"]["tool_calls"]
        responses = [{"call_id": call["call_id"], "tool_name": call["tool_name"], "content": FOUND} for call in calls]
        await self._api.resume(place, turn["turn_id"], responses, TOOLS)

    async def _watched(self) -> None:
        turn, reading = await self._api.begin(await self._place(PACED), PACED)
        api = self._api
        watcher = Watcher(api.http, api.base)
        await watcher.open()
        await watcher.watch(f"turn:{turn}")
        await watcher.close()
        text = str(turn_of(await reading)["output_message"]["content"])
        if wrong := list(faults(seen(watcher.frames), text)):
            raise Broken(f"a socket lost something: {'; '.join(wrong[:3])}")

    async def _abandoned(self) -> None:
        """A stream whose reader leaves."""
        api = self._api
        url = f"{api.session_url(await self._place(PACED))}/turn"
        body = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
        async with api.open("POST", url, body) as response:
            await response.content.readany()
            response.close()

    async def _page(self) -> None:
        async with self._api.open("GET", f"{self._api.base}{self._chance.choice(PAGES)}") as response:
            await response.read()

    async def _report(self) -> None:
        name = f"s{self._chance.randrange(2**40):x}"
        async with self._api.http.post(
            f"{self._api.base}/v1/traces", data=report(name, self._count, 4), headers=PROTOBUF
        ) as response:
            if response.status != 200:
                raise Broken(f"POST /v1/traces: {response.status}")
            await response.read()

    async def _deletion(self) -> None:
        """An agent of its own, and all that it did."""
        agent = await self._api.create_agent(TEXT)
        place = await self._api.create_session(agent)
        await self._api.turn(place, TEXT)
        async with self._api.open("DELETE", f"{self._api.agents}/{agent}"):
            pass
