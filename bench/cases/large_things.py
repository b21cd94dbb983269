"""One trace that grows and grows, a conversation that is as long, and an agent of many sessions: what others wait
meanwhile, and the memory it takes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bench.client import Api, at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, spread
from bench.neighbour import Neighbour
from bench.processes import cpu_seconds, family, memory_mb
from bench.server import Server
from bench.stage import Stage

SPANS_OF_A_POST = 512
"""What an exporter sends at once by default."""
ITEMS_OF_A_POST = 20
AT_A_TIME = 8
MODEL = "scripted/fast"
WORST, MEMORY = Target(100), Target(150)
SAMPLE_S = 0.05
LONGEST_S, LOOK_S = 120.0, 0.25
PROTOBUF = {"Content-Type": "application/x-protobuf"}
WORDS = "the kettle whistles when the water boils and nobody is in the kitchen to hear it "


async def rows(stage: Stage) -> AsyncIterator[Row]:
    async with stage.own().run("large-things") as server:
        api = Api(stage.api.http, server.base)
        spans, items = stage.size(90_000, 2_000), stage.size(50_000, 1_000)
        await _warm(api)
        posts = _posts(spans, "grows")
        async for row in _measured(api, server, f"a trace that grows to {spans:,} spans", _trace(api, posts, spans)):
            yield row
        async for row in _measured(api, server, "its deletion", _deletion(api)):
            yield row
        async for row in _measured(api, server, f"a conversation of {items:,} items", _conversation(api, items)):
            yield row
        async for row in _measured(api, server, f"a response with {items:,} items of input", _response(api, items)):
            yield row
        sessions = stage.size(2_000, 800)
        agent = await _agent(api, sessions)
        async for row in _measured(api, server, f"deletion of an agent of {sessions:,} sessions", _gone(api, agent)):
            yield row


async def _warm(api: Api) -> None:
    """What is imported at the first of each."""
    await _trace(api, _posts(10, "warm"), 10, "warm")
    await _conversation(api, 10)
    await _response(api, 10)


async def _measured(api: Api, server: Server, what: str, work: Coroutine[Any, Any, str]) -> AsyncIterator[Row]:
    neighbour = Neighbour(api)
    before, spent = _forget_peak(server.pid), cpu_seconds(server.pid)
    began, together = time.monotonic(), before
    async with neighbour.asking():
        task = asyncio.create_task(work)
        while not task.done():
            together = max(together, memory_mb(server.pid))
            await asyncio.wait([task], timeout=SAMPLE_S)
        note = await task
    took = time.monotonic() - began
    for kind, seconds in (("read", neighbour.reads), ("write", neighbour.writes)):
        p99 = sorted(seconds)[int(len(seconds) * 0.99)]
        more = f"p99 {p99 * 1000:.0f} ms, {spread(seconds)}"
        yield Row(what, f"another's small {kind}, at worst", max(seconds) * 1000, "ms", WORST, note=more)
    peak = memory_mb(server.pid, "VmHWM") - before
    more = f"{before:.0f} MB before; {together - before:.0f} MB with the processes it started meanwhile"
    yield Row(what, "more memory at its peak", peak, "MB", MEMORY, note=more)
    spent = cpu_seconds(server.pid) - spent
    yield Row(what, "server CPU", spent, "s", note=f"but for processes that ended; {took:.1f} s in all{note}")


def _forget_peak(pid: int) -> float:
    """Begin to measure the peak anew; what is used now."""
    for one in family(pid):
        with suppress(OSError):
            Path(f"/proc/{one}/clear_refs").write_text("5")
    return memory_mb(pid)


# ------------------------------------------------------------------------------------------- the trace


def _posts(spans: int, name: str) -> list[bytes]:
    """Reports of one trace, its root last."""
    trace = name.encode().rjust(16, b"x")
    starts = range(1, spans, SPANS_OF_A_POST)
    some = [[_step(trace, number) for number in range(at, min(at + SPANS_OF_A_POST, spans))] for at in starts]
    return [_report(one) for one in (*some, [_root(trace, name, spans)])]


async def _trace(api: Api, posts: Sequence[bytes], spans: int, name: str = "grows") -> str:
    """Post after post of one trace, until all of it is one turn."""
    began = time.monotonic()
    for body in posts:
        await _post(api, body)
    kept = time.monotonic() - began
    until = time.monotonic() + LONGEST_S
    while (found := await _turns(api, name)) != [(spans - 1) // 2]:
        if time.monotonic() > until:
            raise Broken(f"the trace of {spans} spans is turns of {found} tools after {LONGEST_S:.0f} s")
        await asyncio.sleep(LOOK_S)
    return f", the last span kept after {kept:.1f} s"


async def _turns(api: Api, name: str) -> list[int]:
    """How many tools ran in the turns of the trace's session."""
    return [turn["counts"]["tools"] for turn in await _rows(api, name)]


async def _rows(api: Api, name: str) -> list[Any]:
    async with api.http.get(f"{api.base}/v1/logs/turns", params={"q": f'session:"{name}"'}) as response:
        return list(json.loads(await response.read())["data"])


def _report(spans: Sequence[Span]) -> bytes:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.extend(spans)
    return bytes(request.SerializeToString())


async def _post(api: Api, body: bytes) -> None:
    async with api.http.post(f"{api.base}/v1/traces", data=body, headers=PROTOBUF) as response:
        if response.status != 200:
            raise Broken(f"POST /v1/traces: {response.status}")
        await response.read()


async def _deletion(api: Api, name: str = "grows") -> str:
    [session] = [turn["session_id"] for turn in await _rows(api, name)]
    await api.ask("DELETE", f"{api.base}/v1/conversations/conv_{session.replace('-', '')}")
    if await _rows(api, name):
        raise Broken("the session is there after it was deleted")
    return ""


BEGUN = time.time_ns()
ROOT = bytes([255] * 8)


def _step(trace: bytes, number: int) -> Span:
    if number % 2:
        said = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4o",
            "gen_ai.usage.input_tokens": 900,
            "gen_ai.usage.output_tokens": 40,
            "gen_ai.input.messages": _message("user", f"{number}: {WORDS}"),
            "gen_ai.output.messages": _message("assistant", WORDS),
        }
        return _span(trace, number, "chat gpt-4o", said)
    ran = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": f"tool_{number % 9}",
        "gen_ai.tool.call.arguments": '{"city": "Rome"}',
        "gen_ai.tool.call.result": f"{number}: {WORDS}",
    }
    return _span(trace, number, "execute_tool", ran)


def _root(trace: bytes, name: str, spans: int) -> Span:
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "the one that goes on",
        "gen_ai.conversation.id": name,
        "gen_ai.input.messages": _message("user", WORDS),
        "gen_ai.output.messages": _message("assistant", WORDS),
    }
    return _span(trace, 0, "invoke_agent", agent, ends=spans + 1)


def _span(trace: bytes, number: int, name: str, attributes: dict[str, Any], ends: int = 0) -> Span:
    pairs = [
        KeyValue(key=key, value=AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value))
        for key, value in attributes.items()
    ]
    return Span(
        trace_id=trace,
        span_id=number.to_bytes(8, "big") if number else ROOT,
        parent_span_id=ROOT if number else b"",
        name=name,
        start_time_unix_nano=BEGUN + number * 1_000_000,
        end_time_unix_nano=BEGUN + (ends or number + 1) * 1_000_000,
        attributes=pairs,
    )


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


# ------------------------------------------------------------------------------------------- the history


def _items(first: int, count: int) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": f"{number}: {WORDS}"} for number in range(first, first + count)]


async def _conversation(api: Api, items: int) -> str:
    """A conversation that grows, a response over all of it, and its end."""
    url = f"{api.base}/v1/conversations"
    made = await api.ask("POST", url, {})
    for first in range(0, items, ITEMS_OF_A_POST):
        count = min(ITEMS_OF_A_POST, items - first)
        added = await api.ask("POST", f"{url}/{made['id']}/items", {"items": _items(first, count)})
        if len(added["data"]) != count:
            raise Broken(f"of {count} items {len(added['data'])} were added")
    began = time.monotonic()
    await _answered(api, {"conversation": made["id"], "input": "!script say done"})
    answered = time.monotonic() - began
    await api.ask("DELETE", f"{url}/{made['id']}")
    return f", {answered:.1f} s of it the response"


async def _response(api: Api, items: int) -> str:
    """A response that brings its history along, and its end."""
    asked = [*_items(0, items - 1), {"role": "user", "content": "!script say done"}]
    response = await _answered(api, {"input": asked})
    await api.ask("DELETE", f"{api.responses}/{response['id']}")
    return ""


async def _answered(api: Api, body: dict[str, Any]) -> Any:
    response = await api.ask("POST", api.responses, {"model": MODEL, **body})
    if response["status"] != "completed":
        raise Broken(f"the response is {response['status']}")
    return response


# --------------------------------------------------------------------------------------------- the agent


async def _agent(api: Api, sessions: int) -> str:
    """An agent of so many sessions, each with a turn."""
    agent = await api.create_agent(MODEL)
    places = await api.sessions(agent, sessions)
    said = {"messages": [{"role": "user", "content": "!script say done"}], "stream": False}
    await at_a_time(
        AT_A_TIME, sessions, lambda number: api.ask("POST", f"{api.session_url(places[number])}/turn", said)
    )
    return agent


async def _gone(api: Api, agent: str) -> str:
    await api.ask("DELETE", f"{api.agents}/{agent}")
    return ""
