"""The same store whole, and with its large tables in parts by month (`manage.py partition`), two years of them: what
a turn costs PostgreSQL and the server, and how long searches and a turn take to be read. In pairs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from statistics import median

from bench.cases.log_numbers import sealed
from bench.client import Api, at_a_time, check_answers
from bench.figures import Row
from bench.many import fill
from bench.postgresql import server_pid
from bench.processes import cpu_seconds
from bench.server import Launcher, Server
from bench.stage import Stage

MODEL, WIDTH = "fake-50", 8
NAMES = ("whole", "in-parts")
SPLIT = """
from agents.base import ids
from agents.record.store import partitions

now = ids.now_us()
for table in partitions.TABLES:
    partitions.split(table, now)
partitions.maintain(now + 22 * 30 * 86_400_000_000)
print(min(len(partitions.parts(table)) for table in partitions.TABLES))
"""
SEARCHES = ("word0", "word2999", '"word1 word0"', "nothere")


@dataclass(frozen=True, slots=True)
class Kept:
    """A store with a server on it."""

    server: Server
    api: Api
    database: int
    agent: str
    turns: list[str]
    """Addresses of some of its turns."""

    def cpu(self) -> tuple[float, float]:
        """CPU seconds so far: of PostgreSQL, and of the server."""
        return cpu_seconds(self.database, ended=True), cpu_seconds(self.server.pid)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own, steps, turns = replace(stage.own(), on_postgresql=True), stage.size(250_000, 10_000), stage.size(200, 24)
    async with AsyncExitStack() as stack:
        whole, divided = [await _kept(stage, own, stack, name, steps) for name in NAMES]
        parts = int((await own.manage(NAMES[1], "shell", "-v", "0", "-c", SPLIT)).split()[-1])
        what = f"{parts} parts, {steps:,} steps"

        async def costs(kept: Kept) -> tuple[float, ...]:
            return await _turns(kept, turns)

        async for row in _compared(stage, what, (whole, divided), costs, ("CPU of PostgreSQL", "CPU of the server")):
            yield row
        figures = (*(f"search for {query}" for query in SEARCHES), "a turn with its steps")
        async for row in _compared(stage, what, (whole, divided), _reads, figures):
            yield row


async def _kept(stage: Stage, own: Launcher, stack: AsyncExitStack, name: str, steps: int) -> Kept:
    await asyncio.to_thread(fill, own.folder / name, steps, texts=True)
    await own.copy_to_postgresql(name)
    server = await stack.enter_async_context(own.run(name))
    await sealed(own, name)
    api = Api(stage.api.http, server.base)
    database = await asyncio.to_thread(server_pid, own.databases.url(name))
    found = json.loads((await api.timed_get(f"{api.base}/v1/logs/turns?limit=20&q="))[1])["data"]
    turns = [f"{api.base}/v1/agents/{row['agent_id']}/session/{row['session_id']}/turn/{row['id']}" for row in found]
    return Kept(server, api, database, await api.create_agent(MODEL), turns)


async def _turns(kept: Kept, count: int) -> tuple[float, float]:
    """CPU seconds of a turn."""
    places = await kept.api.sessions(kept.agent, count)
    before = kept.cpu()
    check_answers(await at_a_time(WIDTH, count, lambda number: kept.api.turn(places[number], MODEL)), MODEL)
    database, server = kept.cpu()
    return (database - before[0]) / count, (server - before[1]) / count


async def _reads(kept: Kept) -> tuple[float, ...]:
    """Seconds of each kind of reading."""
    search = f"{kept.api.base}/v1/logs/turns?limit=50&q="
    searched = [median([(await kept.api.timed_get(search + query))[0] for _ in range(5)]) for query in SEARCHES]
    return *searched, median([(await kept.api.timed_get(turn))[0] for turn in kept.turns])


async def _compared(
    stage: Stage,
    what: str,
    pair: tuple[Kept, Kept],
    measure: Callable[[Kept], Awaitable[tuple[float, ...]]],
    figures: tuple[str, ...],
) -> AsyncIterator[Row]:
    for kept in pair:  # to be warm
        await measure(kept)
    found = [(await measure(pair[0]), await measure(pair[1])) for _ in range(stage.size(7, 1))]
    for number, figure in enumerate(figures):
        ratios = [there[number] / max(here[number], 1e-6) for here, there in found]
        whole, divided = (1000 * median(side[number] for side in sides) for sides in zip(*found, strict=True))
        note = f"{divided:.2f} and {whole:.2f} ms; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
        yield Row(what, f"{figure}, times that of whole tables", median(ratios), "×", note=note)
