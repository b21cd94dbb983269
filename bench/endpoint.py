"""A model endpoint that costs next to nothing: OpenAI's chat completions, answers by arithmetic.

    python -m bench.endpoint --port 9001

`bench.models` says what it answers. Knows nothing of agents; requests are decoded only as far as
they matter, for a long history is large.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import signal
import socket
import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec
from aiohttp import web

from bench.models import Plan, answer, plan_of, token

JSON = Any
CREATED = 1_750_000_000


# ------------------------------------------------------------------------------------------- requests


class Message(msgspec.Struct):
    role: str
    tool_calls: list[msgspec.Raw] | None = None


class Function(msgspec.Struct):
    name: str
    parameters: dict[str, Any] | None = None


class Tool(msgspec.Struct):
    function: Function


class ChatRequest(msgspec.Struct):
    """Of a chat completion's body, what decides the answer."""

    model: str
    messages: list[Message]
    stream: bool = False
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    stream_options: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(ChatRequest)
_SAMPLES: dict[str, JSON] = {"integer": 7, "number": 7.5, "boolean": True, "array": [], "object": {}}


def rounds_done(messages: list[Message]) -> int:
    """Rounds of calls since the last message of the user."""
    since = list(itertools.takewhile(lambda message: message.role != "user", reversed(messages)))
    asked = sum(bool(message.tool_calls) for message in since if message.role == "assistant")
    # some clients send results without repeating the call
    return asked or int(bool(since) and since[0].role == "tool")


def calls_for(request: ChatRequest, plan: Plan, serial: int) -> list[JSON]:
    """The calls this answer makes; none when it is time for text."""
    if not (plan.calls_tools and request.tools) or request.tool_choice == "none":
        return []
    if rounds_done(request.messages) >= plan.rounds:
        return []
    function = request.tools[0].function
    arguments = json.dumps(_arguments(function.parameters or {}))
    return [
        {
            "id": f"call_{serial:08d}_{number}",
            "type": "function",
            "function": {"name": function.name, "arguments": arguments},
        }
        for number in range(plan.calls)
    ]


def _arguments(schema: dict[str, Any]) -> JSON:
    properties = schema.get("properties") or {}
    names = schema.get("required") or list(properties)[:1]
    return {name: _SAMPLES.get(properties.get(name, {}).get("type"), "benchmark") for name in names}


# ------------------------------------------------------------------------------------------- answers


def frame(body: JSON) -> bytes:
    return b"data: %b\n\n" % msgspec.json.encode(body)


def chunk(model: str, delta: JSON, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return frame(_completion(model, "chat.completion.chunk") | {"choices": [choice]})


def _completion(model: str, kind: str) -> dict[str, JSON]:
    return {"id": "chatcmpl-0", "object": kind, "created": CREATED, "model": model}


@cache
def writes(model: str) -> tuple[bytes, ...]:
    """The text's chunks as they are written, made once: the endpoint is not what is measured."""
    plan = plan_of(model)
    chunks = [chunk(model, {"content": token(number, plan.width)}) for number in range(plan.tokens)]
    return tuple(b"".join(chunks[at : at + plan.batch]) for at in range(0, len(chunks), plan.batch))


def call_chunks(model: str, calls: list[JSON]) -> list[bytes]:
    """A call's name first, then its arguments in pieces."""
    out = []
    for index, call in enumerate(calls):
        function = call["function"]
        head = {"index": index, "id": call["id"], "type": "function"}
        out.append(chunk(model, {"tool_calls": [head | {"function": {"name": function["name"], "arguments": ""}}]}))
        for at in range(0, len(function["arguments"]), 8):
            piece = {"index": index, "function": {"arguments": function["arguments"][at : at + 8]}}
            out.append(chunk(model, {"tool_calls": [piece]}))
    return out


def usage_of(size: int | None, tokens: int) -> JSON:
    asked = (size or 4) // 4
    return {"prompt_tokens": asked, "completion_tokens": tokens, "total_tokens": asked + tokens}


# -------------------------------------------------------------------------------------------- server


@dataclass
class Endpoint:
    """The routes. ``written`` holds when each write of the latest paced stream left, by the
    machine's monotonic clock, which other processes read too."""

    written: list[float] = field(default_factory=list)
    _serial: itertools.count[int] = field(default_factory=itertools.count)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_get("/health", self._health)
        app.router.add_get("/written", self._written)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _written(self, request: web.Request) -> web.Response:
        return web.json_response(self.written)

    async def _models(self, request: web.Request) -> web.Response:
        names = ("fake-50", "fake-200", "fake-50-d20", "fake-tool-50")
        data = [{"id": name, "object": "model", "created": CREATED, "owned_by": "bench"} for name in names]
        return web.json_response({"object": "list", "data": data})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = _decoder.decode(await request.read())
            plan = plan_of(asked.model)
        except msgspec.MsgspecError as error:
            return _refusal(400, str(error))
        except ValueError as error:
            return _refusal(404, str(error))
        calls = calls_for(asked, plan, next(self._serial))
        if asked.stream:
            return await self._stream(request, asked, calls)
        await asyncio.sleep(plan.first_s + plan.delay_s * plan.tokens)
        return _whole(request, asked, calls)

    async def _stream(self, request: web.Request, asked: ChatRequest, calls: list[JSON]) -> web.StreamResponse:
        plan = plan_of(asked.model)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        await response.write(chunk(asked.model, {"role": "assistant", "content": ""}))
        if plan.first_s:
            await asyncio.sleep(plan.first_s)
        if calls:
            for piece in call_chunks(asked.model, calls):
                await response.write(piece)
        elif plan.delay_s:
            await self._paced(response, asked.model, plan.delay_s)
        else:
            for piece in writes(asked.model):
                await response.write(piece)
        await response.write(_tail(request, asked, calls))
        await response.write_eof()
        return response

    async def _paced(self, response: web.StreamResponse, model: str, delay_s: float) -> None:
        written = self.written = []
        for piece in writes(model):
            await asyncio.sleep(delay_s)
            written.append(time.monotonic())
            await response.write(piece)


def _tail(request: web.Request, asked: ChatRequest, calls: list[JSON]) -> bytes:
    tail = chunk(asked.model, {}, "tool_calls" if calls else "stop")
    if (asked.stream_options or {}).get("include_usage"):
        usage = usage_of(request.content_length, plan_of(asked.model).tokens)
        tail += frame(_completion(asked.model, "chat.completion.chunk") | {"choices": [], "usage": usage})
    return tail + b"data: [DONE]\n\n"


def _whole(request: web.Request, asked: ChatRequest, calls: list[JSON]) -> web.Response:
    message: dict[str, JSON] = {"role": "assistant", "content": None if calls else answer(asked.model)}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
    usage = usage_of(request.content_length, plan_of(asked.model).tokens)
    return web.json_response(_completion(asked.model, "chat.completion") | {"choices": [choice], "usage": usage})


def _refusal(status: int, words: str) -> web.Response:
    return web.json_response({"error": {"message": words, "type": "invalid_request_error"}}, status=status)


async def serve(port: int) -> None:
    """Answer until SIGTERM."""
    listening = socket.create_server(("127.0.0.1", port), backlog=1024)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    runner = web.AppRunner(Endpoint().app(), access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    print(f"model endpoint http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
    await over.wait()
    await runner.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description="A model endpoint for measuring.")
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
