"""Memory under what is made to take much of it: long answers, readers that do not read, large rows made and listed."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from bench.client import Api, Place
from bench.faults import Broken
from bench.figures import Row, Target
from bench.processes import family, memory_mb
from bench.stage import Stage

MODEL = "scripted/fast"
LARGE = "x" * 7_900_000
LIST_LIMIT = 1000
LOOK_S = 0.5


async def rows(stage: Stage) -> AsyncIterator[Row]:
    tokens, count = stage.size(400_000, 40_000), stage.size(50, 5)
    async with stage.own().run("memory") as server:
        api = Api(stage.api.http, server.base)
        agent = await api.create_agent(MODEL)
        await _said(api, await api.create_session(agent), 10)  # what is imported at the first turn
        before = _forget_peak(server.pid)
        await _said(api, await api.create_session(agent), tokens)
        more = memory_mb(server.pid, "VmHWM") - before
        yield Row(f"a turn of {tokens:,} tokens", "at its peak", more * 2**20 / tokens, "B/token", Target(64))

        before, large = _forget_peak(server.pid), stage.size(20, 4)
        await asyncio.gather(*(api.create_agent(MODEL, instructions=LARGE) for _ in range(large)))
        peak = memory_mb(server.pid, "VmHWM")
        yield Row(f"{large} agents of 8 MB, created at once", "peak", peak, "MB", note=f"{before:.0f} MB before")

        before = _forget_peak(server.pid)
        places = await api.sessions(agent, count)
        readers = [_deaf(server.base, place, tokens) for place in places]
        try:
            await asyncio.gather(*(_listed(api) for _ in range(20)))
            while await _running(api):  # noqa: ASYNC110 - another process is asked
                await asyncio.sleep(LOOK_S)
        finally:
            for reader in readers:
                reader.close()
        what = f"{count} such turns with readers that do not read, 20 lists of 8 MB agents"
        yield Row(what, "peak", memory_mb(server.pid, "VmHWM"), "MB", Target(400), note=f"{before:.0f} MB before")
        await asyncio.sleep(stage.size(60, 20))
        yield Row("a minute later", "resident memory", memory_mb(server.pid), "MB", Target(200))


def _forget_peak(pid: int) -> float:
    """Begin to measure the peak anew; what is used now."""
    for one in family(pid):
        with suppress(OSError):
            Path(f"/proc/{one}/clear_refs").write_text("5")
    return memory_mb(pid)


def _body(tokens: int, *, stream: bool) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": f"!script repeat {tokens} a"}], "stream": stream}


async def _said(api: Api, place: Place, tokens: int) -> None:
    """A turn to its end. Raises Broken where its answer is not whole."""
    url = f"{api.agents}/{place.agent}/session/{place.session}/turn"
    turn = await api.ask("POST", url, _body(tokens, stream=False))
    if len(turn["output_message"]["content"]) != 2 * tokens - 1:
        raise Broken(f"{url}: the answer is not whole")


def _deaf(base: str, place: Place, tokens: int) -> socket.socket:
    """Begins a turn as a stream, and reads nothing of it."""
    where = urlsplit(base)
    assert where.hostname is not None  # a server of ours
    body = json.dumps(_body(tokens, stream=True)).encode()
    path = f"/v1/agents/{place.agent}/session/{place.session}/turn"
    head = f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Type: application/json\r\n"
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.connect((where.hostname, where.port))
    opened.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return opened


async def _listed(api: Api) -> None:
    async with api.open("GET", f"{api.agents}?limit={LIST_LIMIT}") as response:
        async for _ in response.content.iter_any():
            pass


async def _running(api: Api) -> bool:
    found = await api.ask("GET", f"{api.base}/v1/logs/turns?q=is:live&limit=1")
    return bool(found["data"])
