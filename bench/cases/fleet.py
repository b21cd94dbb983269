"""Many processes on one database: what they take when nothing is done, and what those that do nothing take of the work
of one. `docs/operations/scale.md` reckons with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bench.client import Api, at_a_time, check_answers
from bench.figures import Row
from bench.postgresql import server_pid
from bench.processes import cpu_seconds
from bench.server import Server, Store
from bench.stage import Stage

MODEL, WIDTH = "fake-50", 8
SETTLE_S = 3.0


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds: of PostgreSQL, of the process that does the work, and of all others together."""

    database: float
    busy: float
    others: float

    def __sub__(self, earlier: Spent) -> Spent:
        return Spent(self.database - earlier.database, self.busy - earlier.busy, self.others - earlier.others)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own, turns, idle_s = stage.own(), stage.size(400, 24), stage.size(20, 2)
    async with AsyncExitStack() as stack:
        servers: list[Server] = []
        for count in (1, 8, 24) if not stage.quick else (1, 2):
            while len(servers) < count:
                store = Store("fleet", True, len(servers))
                servers.append(await stack.enter_async_context(own.serve(store)))
            database = await asyncio.to_thread(server_pid, own.databases.url("fleet"))
            what = f"{count} process{'es' * (count > 1)}"
            await asyncio.sleep(SETTLE_S)
            before = _spent(database, servers)
            await asyncio.sleep(idle_s)
            spent = _spent(database, servers) - before
            each = 1000 * (spent.busy + spent.others) / idle_s / count
            yield Row(what, "CPU of PostgreSQL, idle", 1000 * spent.database / idle_s, "ms a second")
            yield Row(what, "CPU of each process, idle", each, "ms a second")
            spent = await _of_turns(stage, database, servers, turns)
            note = f"{turns} turns of {MODEL} on one of them"
            yield Row(what, "CPU of PostgreSQL", 1000 * spent.database / turns, "ms a turn", note=note)
            yield Row(what, "CPU of the one", 1000 * spent.busy / turns, "ms a turn")
            if count > 1:
                yield Row(what, "CPU of each other", 1000 * spent.others / turns / (count - 1), "ms a turn")


async def _of_turns(stage: Stage, database: int, servers: Sequence[Server], count: int) -> Spent:
    api = Api(stage.api.http, servers[0].base)
    agent = await api.create_agent(MODEL)
    places = await api.sessions(agent, count)
    await asyncio.sleep(SETTLE_S)
    before = _spent(database, servers)
    check_answers(await at_a_time(WIDTH, count, lambda number: api.turn(places[number], MODEL)), MODEL)
    return _spent(database, servers) - before


def _spent(database: int, servers: Sequence[Server]) -> Spent:
    busy, *others = (cpu_seconds(server.pid) for server in servers)
    return Spent(cpu_seconds(database, ended=True), busy, sum(others))
