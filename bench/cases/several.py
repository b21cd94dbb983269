"""The same work on one process, and on each of four that share a database: what a turn and a span cost then. Each
process has turns and senders of its own. Four of them fill a small machine, on which everything takes more of the
processor; how much of it that is, four processes with a database each tell. The three are measured one after the other,
several times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from itertools import count as counting
from statistics import median

from bench.cases.ingest import PER_REQUEST, PROTOBUF, report
from bench.client import Api, at_a_time, check_answers
from bench.faults import Broken
from bench.figures import Row, Target
from bench.processes import cpu_seconds
from bench.server import Server, Store
from bench.stage import Stage

MODEL, WIDTH, PROCESSES = "fake-50", 8, 4
SENDERS = 2
WITHIN = Target(1.10)
LONGEST_S, LOOK_S = 180.0, 0.25

Work = Callable[[Api, int], Awaitable[None]]
"""Work of one process, numbered so that no two are the same."""


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own, turns, requests = stage.own(), stage.size(400, 24), stage.size(20, 2)
    async with AsyncExitStack() as stack:
        groups = [
            [*await stack.enter_async_context(own.several("one-process", 1))],
            [*await stack.enter_async_context(own.several("four-processes", PROCESSES))],
            [await stack.enter_async_context(own.serve(Store(f"apart-{n}", True))) for n in range(PROCESSES)],
        ]
        apis = [[Api(stage.api.http, server.base) for server in servers] for servers in groups]
        agents = {api: await api.create_agent(MODEL) for group in apis for api in group}

        async def run_turns(api: Api, _: int) -> None:
            await _turns(api, agents[api], turns)

        async def send(api: Api, number: int) -> None:
            await _spans(api, number, requests)

        settings: Sequence[tuple[str, Work, int]] = (
            (f"a turn of {MODEL}", run_turns, turns),
            ("a span", send, requests * PER_REQUEST * 5),
        )
        for setting in settings:
            async for row in _compared(stage, list(zip(groups, apis, strict=True)), setting):
                yield row


async def _compared(
    stage: Stage, groups: Sequence[tuple[list[Server], list[Api]]], setting: tuple[str, Work, int]
) -> AsyncIterator[Row]:
    what, work, units = setting
    numbers = counting()
    spent: list[list[float]] = [[] for _ in groups]
    for servers, apis in groups:  # to be warm
        await _spent(servers, apis, work, numbers)
    for _ in range(stage.size(5, 1)):
        for (servers, apis), costs in zip(groups, spent, strict=True):
            costs.append(await _spent(servers, apis, work, numbers) / units / len(servers))
    one, together, apart = spent
    for others, figure, target in (
        (one, "CPU, times that of one process", WITHIN),
        (apart, "CPU, times that of four with a database each", None),
    ):
        ratios = [four / other for other, four in zip(others, together, strict=True)]
        medians = f"{1e6 * median(others):,.0f} and {1e6 * median(together):,.0f} µs"
        note = f"{medians}; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
        yield Row(f"{what}, {PROCESSES} processes", figure, median(ratios), "×", target, note=note)


async def _spent(servers: Sequence[Server], apis: Sequence[Api], work: Work, numbers: counting[int]) -> float:
    """CPU seconds of all these processes while each does its work."""
    before = sum(cpu_seconds(server.pid) for server in servers)
    await asyncio.gather(*(work(api, next(numbers)) for api in apis))
    return sum(cpu_seconds(server.pid) for server in servers) - before


async def _turns(api: Api, agent: str, count: int) -> None:
    places = await api.sessions(agent, count)
    check_answers(await at_a_time(WIDTH, count, lambda number: api.turn(places[number], MODEL)), MODEL)


async def _spans(api: Api, number: int, requests: int) -> None:
    """Send reports and wait until all of them are turns that are found."""
    names = [f"p{number}r{request}" for request in range(requests)]

    async def send(request: int) -> None:
        body = report(names[request], request * PER_REQUEST, PER_REQUEST)
        async with api.http.post(f"{api.base}/v1/traces", data=body, headers=PROTOBUF) as response:
            if response.status != 200:
                raise Broken(f"POST /v1/traces: {response.status}")
            await response.read()

    await at_a_time(SENDERS, requests, send)
    until = time.monotonic() + LONGEST_S
    for request, name in enumerate(names):
        last = f"talk {name}-{(request + 1) * PER_REQUEST - 1}"
        while not await _is_found(api, last):
            if time.monotonic() > until:
                raise Broken(f"{last} is no turn after {LONGEST_S:.0f} s")
            await asyncio.sleep(LOOK_S)


async def _is_found(api: Api, session: str) -> bool:
    params = {"q": f'session:"{session}"', "limit": "1"}
    async with api.http.get(f"{api.base}/v1/logs/turns", params=params) as response:
        return bool((await response.json())["data"])
