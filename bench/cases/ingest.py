"""What agents elsewhere report, as fast as it comes: how long until it is kept, until it is turns that can be
found, and how soon a turn is in an open list when nothing else comes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.client import Api, at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.processes import memory_mb
from bench.stage import Stage

PER_REQUEST = 100
"""Turns of five spans in a request, as an exporter's batches are."""
SENDERS = 4
SPAN_BYTES = 2400
ALONE = 20
LONGEST_S, LOOK_S = 120.0, 0.25
PROTOBUF = {"Content-Type": "application/x-protobuf"}
WORDS = "the kettle is on the shelf behind the blue door and it whistles when the water boils "


async def rows(stage: Stage) -> AsyncIterator[Row]:
    api, requests = stage.api, stage.size(80, 4)
    bodies = [report(f"load{number}", number * PER_REQUEST, PER_REQUEST) for number in range(requests)]
    spans = requests * PER_REQUEST * 5
    what = f"{spans:,} spans of {sum(map(len, bodies)) / spans / 1000:.1f} KB, {SENDERS} senders"
    memory = memory_mb(stage.server_pid) if stage.server_pid else None
    with stage.meter() as meter:
        began, spent = time.monotonic(), time.process_time()
        await at_a_time(SENDERS, requests, lambda number: _send(api, bodies[number]))
        kept, spent = time.monotonic() - began, time.process_time() - spent
        await _until_turns(api, requests * PER_REQUEST, _talk(requests - 1, requests * PER_REQUEST - 1))
        projected = time.monotonic() - began
    yield Row(
        what,
        "kept for good",
        kept / spans * 1e6,
        "µs a span",
        Target(100),
        "1,033 / 6,667",
        f"{spans / kept:,.0f} a second",
    )
    note = f"{spans / projected:,.0f} a second, {projected - kept:.1f} s behind the last answer"
    yield Row(what, "turns that are found", projected / spans * 1e6, "µs a span", Target(200), note=note)
    if meter.cpu_s is not None:
        yield Row(what, "server CPU", meter.cpu_s / spans * 1e6, "µs a span")
    yield Row(what, "the senders' CPU, beside it", spent / spans * 1e6, "µs a span")
    if memory is not None and stage.server_pid:
        yield Row(what, "more memory than before", memory_mb(stage.server_pid) - memory, "MB")
    yield await _alone(api)


def _talk(request: int, turn: int) -> str:
    return f"talk load{request}-{turn}"


def report(name: str, first: int, turns: int) -> bytes:
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in range(first, first + turns):
        scope.spans.extend(_turn(f"{name}-{number}", number))
    return bytes(request.SerializeToString())


def _turn(name: str, number: int) -> Sequence[Any]:
    """An agent, three model calls and a tool, the root last."""
    trace = name.encode().rjust(16, b"x")[-16:]
    begun = time.time_ns()
    filler = WORDS * (SPAN_BYTES // len(WORDS))
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.usage.input_tokens": 900,
        "gen_ai.usage.output_tokens": 40,
    }
    said = {
        "gen_ai.input.messages": _message("user", f"{name}: {filler[:1000]}"),
        "gen_ai.output.messages": _message("assistant", filler[1000:2000]),
    }
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": f"tool_{number % 9}",
        "gen_ai.tool.call.arguments": '{"city": "Rome"}',
        "gen_ai.tool.call.result": filler[:1900],
    }
    root = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": f"agent {number % 7}",
        "gen_ai.conversation.id": f"talk {name}",
        **said,
    }
    made: list[tuple[int, str, dict[str, Any]]] = [
        (2, "chat gpt-4o", chat | said),
        (3, "execute_tool", tool),
        (4, "chat gpt-4o", chat | said),
        (5, "chat gpt-4o", chat | said),
        (1, "invoke_agent", root),
    ]
    return [_span(trace, place, label, attributes, begun) for place, label, attributes in made]


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _span(trace: bytes, place: int, name: str, attributes: dict[str, Any], begun: int) -> Any:
    pairs = [
        KeyValue(key=key, value=AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value))
        for key, value in attributes.items()
    ]
    return Span(
        trace_id=trace,
        span_id=bytes([0] * 7 + [place]),
        parent_span_id=b"" if place == 1 else bytes([0] * 7 + [1]),
        name=name,
        start_time_unix_nano=begun + place * 1_000_000,
        end_time_unix_nano=begun + (place + 1) * 1_000_000 + (20_000_000 if place == 1 else 0),
        attributes=pairs,
    )


async def _send(api: Api, body: bytes) -> None:
    async with api.http.post(f"{api.base}/v1/traces", data=body, headers=PROTOBUF) as response:
        if response.status != 200:
            raise Broken(f"POST /v1/traces: {response.status}")
        await response.read()


async def _until_turns(api: Api, count: int, last: str) -> None:
    """Until so many turns are there. They are counted once that of session ``last`` is: counting costs the server."""
    until = time.monotonic() + LONGEST_S
    while not (await _asked(api, "turns", {"q": f'session:"{last}"', "limit": "1"})):
        await _again(until, "the last report is no turn")
    while (found := (await _asked(api, "turns/stats", {"q": "source:otlp"}))["count"]) < count:
        await _again(until, f"{found} of {count} turns")


async def _asked(api: Api, what: str, params: dict[str, str]) -> Any:
    async with api.http.get(f"{api.base}/v1/logs/{what}", params=params) as response:
        return json.loads(await response.read())["data"]


async def _again(until: float, state: str) -> None:
    if time.monotonic() > until:
        raise Broken(f"{state} after {LONGEST_S:.0f} s")
    await asyncio.sleep(LOOK_S)


async def _alone(api: Api) -> Row:
    """One report at a time, seen by an open list."""
    socket = await api.http.ws_connect(f"{api.base.replace('http', 'ws', 1)}/ws/live", max_msg_size=0)
    wanted = {"op": "subscribe", "id": 1, "topic": "logs", "level": "turns", "q": "source:otlp", "as": "html"}
    await socket.send_str(json.dumps(wanted))
    await _frame(socket, "live")
    waits = []
    for number in range(ALONE):
        name = f"alone{number}"
        body = report(name, number, 1)
        await _send(api, body)
        began = time.monotonic()
        while f"{name}-{number}:" not in await _frame(socket, "events"):
            pass
        waits.append(time.monotonic() - began)
        await asyncio.sleep(0.2)
    await socket.close()
    return latency("one report, nothing else", "from the answer to the row in a list", waits, Target(300))


async def _frame(socket: aiohttp.ClientWebSocketResponse, op: str) -> str:
    while True:
        text: str = (await socket.receive()).data
        if json.loads(text)["op"] == op:
            return text
