"""What others wait while one key asks for all that there is: turns, lists, large rows, reports."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp

from bench.client import Api
from bench.faults import Broken
from bench.figures import Row, Target, spread
from bench.neighbour import Neighbour
from bench.stage import Stage

MODEL = "scripted/fast"
KEY = """
from agents.models import User
from agents.base.store import keys
user = keys.of_user(User.objects.create_user("flood"))
print(keys.create(user, name="a key", actions=["read", "run", "manage", "ingest"])[1])
"""
LARGE, LARGE_AT_A_TIME = "x" * 7_900_000, 20
NEXT = Target(1000)
"""What the first of another's turns, or the last of its reports, may wait."""
SMALL, BESIDE_LARGE = Target(250), Target(1000)
FLOODS_S = 1.0
LOOK_S = 0.05

Ask = Callable[[aiohttp.ClientSession], Any]


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own = stage.own()
    async with own.run("fairness") as server:
        secret = (await own.manage("fairness", "shell", "-c", KEY)).splitlines()[-1]
        async with aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {secret}"}, connector=aiohttp.TCPConnector(limit=0)
        ) as http:
            api = Api(stage.api.http, server.base)
            count, seconds = stage.size(200, 40), stage.size(10, 3)
            yield await _turns(api, Api(http, server.base), count)
            for words, work in _floods(server.base, count).items():
                async for row in _beside(api, http, words, work, seconds):
                    yield row
            yield await _reports(api, http, stage.size(160_000, 16_000))


async def _turns(api: Api, flood: Api, count: int) -> Row:
    """A turn beside so many that take a minute each."""
    body = {"model": MODEL, "input": "!script wait 60s", "background": True}
    answers = [await _status(flood.http.post(flood.responses, json=body)) for _ in range(count)]
    place = await api.create_session(await api.create_agent(MODEL))
    took = []
    for _ in range(10):
        began = time.monotonic()
        await api.ask(
            "POST",
            f"{api.session_url(place)}/turn",
            {"messages": [{"role": "user", "content": "!script say Hello."}], "stream": False},
        )
        took.append(time.monotonic() - began)
    note = f"{spread(took)}; of the key's, {answers.count(200)} were taken"
    return Row(
        f"{count} turns of a minute of one key", "another's turn, at worst", max(took) * 1000, "ms", NEXT, note=note
    )


def _floods(base: str, count: int) -> dict[str, tuple[int, Ask]]:
    """What one key does, so many at a time."""
    small = {"agent_config": {"model": MODEL, "instructions": "Be brief."}}
    large = json.dumps({"agent_config": {"model": MODEL, "instructions": LARGE}}).encode()
    kind = {"Content-Type": "application/json"}
    return {
        f"{count} small agents at a time": (count, lambda http: http.post(f"{base}/v1/agents", json=small)),
        f"{count} lists of them at a time": (count, lambda http: http.get(f"{base}/v1/agents?limit=1000")),
        f"{LARGE_AT_A_TIME} agents of 8 MB at a time": (
            LARGE_AT_A_TIME,
            lambda http: http.post(f"{base}/v1/agents", data=large, headers=kind),
        ),
        f"{LARGE_AT_A_TIME} lists of those at a time": (
            LARGE_AT_A_TIME,
            lambda http: http.get(f"{base}/v1/agents?limit=1000"),
        ),
    }


async def _beside(
    api: Api, http: aiohttp.ClientSession, words: str, work: tuple[int, Ask], seconds: float
) -> AsyncIterator[Row]:
    width, ask = work
    neighbour, answers = Neighbour(api), dict[int, int]()
    async with _going([_again(http, ask, answers) for _ in range(width)]):
        await asyncio.sleep(FLOODS_S)
        async with neighbour.asking():
            await asyncio.sleep(seconds)
    target = SMALL if width > LARGE_AT_A_TIME else BESIDE_LARGE
    for name, took in (("read", neighbour.reads), ("write", neighbour.writes)):
        p95 = sorted(took)[int(len(took) * 0.95)]
        note = f"{spread(took)}; the key's answers: {answers}"
        yield Row(
            f"one key makes or reads {words}", f"another's small {name}, p95", p95 * 1000, "ms", target, note=note
        )


async def _again(http: aiohttp.ClientSession, ask: Ask, answers: dict[int, int]) -> None:
    while True:
        status = await _status(ask(http))
        answers[status] = answers.get(status, 0) + 1
        if status not in (200, 201, 429):
            raise Broken(f"an answer was {status}")
        if status == 429:
            await asyncio.sleep(0.5)


@asynccontextmanager
async def _going(work: list[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(one) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


async def _status(request: Any) -> int:
    async with request as response:
        await response.read()
        return int(response.status)


async def _reports(api: Api, http: aiohttp.ClientSession, spans: int) -> Row:
    """A trace of another's behind so many spans of one key."""
    url = f"{api.base}/v1/traces"
    for _ in range(spans // 2000):
        if await _status(http.post(url, json=_trace(2000, traces=40))) != 200:
            raise Broken("a report was refused")
    began = time.monotonic()
    await api.ask("POST", url, _trace(10, "ours"))
    while not (await api.ask("GET", f"{api.base}/v1/logs/turns?q=agent:ours&limit=1"))["data"]:  # noqa: ASYNC110 - another process is asked
        await asyncio.sleep(LOOK_S)
    took = time.monotonic() - began
    return Row(f"{spans:,} spans of one key wait", "another's trace of ten is a turn", took * 1000, "ms", NEXT)


def _trace(spans: int, agent: str = "theirs", traces: int = 1) -> dict[str, Any]:
    made = [one for _ in range(traces) for one in _spans(spans // traces, agent)]
    return {"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}


def _spans(count: int, agent: str) -> list[dict[str, Any]]:
    now, trace, top = time.time_ns(), secrets.token_hex(16), secrets.token_hex(8)
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.prompt": "p" * 400}
    first = _span(trace, top, "", now, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": agent})
    return [first, *(_span(trace, secrets.token_hex(8), top, now + place, said) for place in range(count - 1))]


def _span(trace: str, span: str, parent: str, at: int, attributes: dict[str, str]) -> dict[str, Any]:
    return {
        "traceId": trace,
        "spanId": span,
        "parentSpanId": parent,
        "name": attributes["gen_ai.operation.name"],
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 1000),
        "attributes": [{"key": name, "value": {"stringValue": value}} for name, value in attributes.items()],
    }
