"""The streams of other dialects as their clients read them: responses over a WebSocket, and the events of a session of
OpenAI's Agents API, both on connections that stay open. Every stream is checked as those over server-sent events are.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from bench.client import INSTRUCTIONS, PROMPT, Api
from bench.faults import Broken
from bench.models import plan_of
from bench.streams import RESPONSE, Dialect, Timing, blocks, read_stream

SESSION = Dialect(
    re.compile(rb'"type":"agent\.session\.turn\.output_text\.delta"'), re.compile(rb'"type":"agent\.session\.idle"')
)
_SESSION_ID = re.compile(rb'"id":"(sess_\w+)"')
BETA = {"OpenAI-Beta": "agents=v1"}


class ResponseSocket:
    """A socket of the Responses API; requests follow one another."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def response(self, model: str) -> Timing:
        timing = Timing(RESPONSE, time.monotonic())
        body = {"model": model, "instructions": INSTRUCTIONS, "input": PROMPT}
        await self._socket.send_json({"type": "response.create", **body})
        while not timing.end:
            message = await self._socket.receive()
            if message.type is not aiohttp.WSMsgType.TEXT or '"type":"error"' in message.data[:20]:
                raise Broken(f"the socket said {message.data!r}"[:300])
            timing.take(time.monotonic(), message.data.encode())
        timing.total_s = time.monotonic() - timing.began
        timing.check(plan_of(model).tokens)
        return timing


@asynccontextmanager
async def response_socket(api: Api) -> AsyncIterator[ResponseSocket]:
    async with api.http.ws_connect(api.responses, compress=0, max_msg_size=0) as socket:
        yield ResponseSocket(socket)


class SessionEvents:
    """A session of OpenAI's Agents API, and its open stream."""

    def __init__(self, api: Api, url: str, stream: aiohttp.ClientResponse, first: Timing) -> None:
        self.first = first
        self._api, self._url = api, url
        self._blocks = blocks(stream)

    async def turn(self, model: str) -> Timing:
        timing = Timing(SESSION, time.monotonic())
        message = {"role": "user", "content": [{"type": "input_text", "text": PROMPT}]}
        said = {"type": "agent.session.input.message", "input": [message]}
        async with self._api.open("POST", self._url, {"events": [said]}, BETA):
            pass
        while not timing.end:
            arrived, found = await anext(self._blocks)
            for block in found:
                timing.take(arrived, block)
        timing.total_s = time.monotonic() - timing.began
        timing.check(plan_of(model).tokens)
        return timing


@asynccontextmanager
async def session_events(api: Api, model: str) -> AsyncIterator[SessionEvents]:
    """A new session whose stream is open; its first turn, which came with its creation, is over."""
    agent = {"model": model, "instructions": INSTRUCTIONS}
    body = {"agent": agent, "environment": {"type": "none"}, "input": PROMPT, "stream": True}
    ids: list[bytes] = []
    began = time.monotonic()
    async with api.open("POST", f"{api.agents}/sessions", body, BETA) as response:
        timing = await read_stream(response, SESSION, began, lambda block: ids.extend(_SESSION_ID.findall(block)))
    timing.check(plan_of(model).tokens)
    if not ids:
        raise Broken("a new session's stream does not say its id")
    url = f"{api.agents}/sessions/{ids[0].decode()}/events"
    async with api.open("GET", url, headers=BETA) as stream:
        yield SessionEvents(api, url, stream, timing)
