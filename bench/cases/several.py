"""The same work on one process, and on each of four that share a database: what a turn and a span cost then. Each
process has turns and senders of its own; the two are measured one after the other, several times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count as counting
from statistics import median

from bench.cases.ingest import PER_REQUEST, PROTOBUF, report
from bench.client import Api, at_a_time, check_answers
from bench.faults import Broken
from bench.figures import Row, Target
from bench.processes import cpu_seconds
from bench.server import Server
from bench.stage import Stage

MODEL, WIDTH, PROCESSES = "fake-50", 8, 4
SENDERS = 2
WITHIN = Target(1.10)
LONGEST_S, LOOK_S = 180.0, 0.25

Work = Callable[[Api, int], Awaitable[None]]
"""Work of one process, numbered so that no two are the same."""


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own, turns, requests = stage.own(), stage.size(400, 24), stage.size(20, 2)
    async with own.several("one-process", 1) as one, own.several("four-processes", PROCESSES) as four:
        groups = [(servers, [Api(stage.api.http, server.base) for server in servers]) for servers in (one, four)]
        agents = [await apis[0].create_agent(MODEL) for _, apis in groups]

        async def run_turns(api: Api, _: int) -> None:
            await _turns(api, agents[0] if api is groups[0][1][0] else agents[1], turns)

        async def send(api: Api, number: int) -> None:
            await _spans(api, number, requests)

        settings: Sequence[tuple[str, Work, int]] = (
            (f"a turn of {MODEL}", run_turns, turns),
            ("a span", send, requests * PER_REQUEST * 5),
        )
        for what, work, units in settings:
            async for row in _compared(stage, groups, (what, work, units)):
                yield row


async def _compared(
    stage: Stage, groups: Sequence[tuple[list[Server], list[Api]]], setting: tuple[str, Work, int]
) -> AsyncIterator[Row]:
    what, work, units = setting
    numbers, spent = counting(), ([], [])  # type: tuple[counting[int], tuple[list[float], list[float]]]
    for servers, apis in groups:  # to be warm
        await _spent(servers, apis, work, numbers)
    for _ in range(stage.size(5, 1)):
        for (servers, apis), costs in zip(groups, spent, strict=True):
            costs.append(await _spent(servers, apis, work, numbers) / units / len(servers))
    ratios = [four / one for one, four in zip(*spent, strict=True)]
    alone, together = (1e6 * median(costs) for costs in spent)
    note = f"{alone:,.0f} and {together:,.0f} µs; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
    yield Row(
        f"{what}, {PROCESSES} processes", "CPU, times that of one process", median(ratios), "×", WITHIN, note=note
    )


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
