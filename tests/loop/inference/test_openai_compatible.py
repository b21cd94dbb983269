"""An OpenAI-compatible endpoint over a real socket: what is sent, what good answers look like."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agents.base.errors import InvalidRequest, ProviderError
from agents.loop.inference.base import Chunk, Finish, InferenceRequest, Text
from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible
from agents.record.schemas.content import JsonSchemaFormat, Usage
from tests.loop.inference.conftest import listening

KEY = "sk-very-secret-0123456789"
MESSAGES = [b'{"role":"user","content":"hi"}']
OK = [Text("ok"), Finish("stop")]

Build = Callable[..., Any]


def test_it_streams_text_and_usage(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    body = sse(delta("Good"), delta(" day"), delta(finish="stop"), {"choices": [], "usage": usage}, "[DONE]")
    outcome = ask([http(body)])
    counted = Usage(input_tokens=9, output_tokens=5, cached_tokens=4, reasoning_tokens=2)
    assert outcome.error is None
    assert outcome.chunks == [Text("Good"), Text(" day"), Finish("stop", counted)]


def test_it_posts_to_chat_completions_with_its_key(ask: Build, ok: bytes) -> None:
    (seen,) = ask([ok], api_key=f" {KEY}\n").seen
    assert seen.line == "POST /v1/chat/completions HTTP/1.1"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.json["messages"] == [{"role": "user", "content": "hi"}]
    assert seen.json["stream"] is True


def test_it_sends_no_authorization_without_a_key(ask: Build, ok: bytes) -> None:
    (seen,) = ask([ok]).seen
    assert "authorization" not in seen.headers


def test_it_sends_a_large_history_whole(ask: Build, ok: bytes) -> None:
    large = [b'{"role":"user","content":"' + b"x" * 2**21 + b'"}'] * 2
    outcome = ask([ok], request=InferenceRequest("m", large))
    assert outcome.chunks == OK
    assert outcome.seen[0].body.count(b"x" * 2**21) == 2


def test_it_says_nothing_to_an_endpoint_that_cannot_be_said(ask: Build, ok: bytes) -> None:
    request = InferenceRequest("m", MESSAGES, response_format=JsonSchemaFormat(json_schema={"x": "\ud83d"}))
    outcome = ask([ok], request=request)
    assert isinstance(outcome.error, InvalidRequest)
    assert outcome.seen == []


# Answers in one piece.


def test_it_takes_an_answer_that_is_not_streamed(ask: Build, http: Build) -> None:
    body = b"""{"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2}}"""
    outcome = ask([http(body, kind="application/json; charset=utf-8")])
    assert outcome.chunks == [Text("ok"), Finish("stop", Usage(input_tokens=1, output_tokens=2))]


@pytest.mark.parametrize("body", [b'{"error": "tired"}', b'{"status": "tired"}', b"tired", b"[]", b""])
def test_it_refuses_a_document_that_is_no_answer(ask: Build, http: Build, body: bytes) -> None:
    outcome = ask([http(body, kind="application/json")])
    assert outcome.chunks == []
    assert isinstance(outcome.error, ProviderError)


def test_it_does_not_unpack_what_it_asked_to_get_plain(ask: Build, http: Build, sse: Build, delta: Build) -> None:
    packed = gzip.compress(sse(delta("ok"), delta(finish="stop")))
    outcome = ask([http(packed, Content_Encoding="gzip")])
    assert outcome.chunks == []
    assert isinstance(outcome.error, ProviderError)


# Loops and connections.


def test_it_takes_no_proxy_from_the_environment(ask: Build, ok: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert ask([ok]).chunks == OK


def test_it_reads_an_answer_to_its_end_to_use_the_connection_again(serve: Build, sse: Build, delta: Build) -> None:
    event = sse(delta("ok"), delta(finish="stop"), "[DONE]")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def main() -> None:
        answer = [head + b"%x\r\n%s\r\n" % (len(event), event), "wait", b"0\r\n\r\n", "keep"]
        async with serve(answer) as (url, upstream):
            model = OpenAICompatible("lab", EndpointConfig(url))
            for _ in range(2):
                chunks = []
                async for chunk in model.stream(InferenceRequest("m", MESSAGES)):
                    chunks.append(chunk)
                    if isinstance(chunk, Finish):
                        upstream.go.set()
                assert chunks == OK
            assert (len(upstream.seen), upstream.connections) == (2, 1)
            await model.close()

    asyncio.run(main())


def test_it_serves_one_loop_after_another_closed_or_not(serve: Build, ok: bytes) -> None:
    model: OpenAICompatible | None = None

    async def inference(port: int) -> int:
        nonlocal model
        async with serve([ok], port=port) as (url, _):
            model = model or OpenAICompatible("lab", EndpointConfig(url))
            assert [chunk async for chunk in model.stream(InferenceRequest("m", MESSAGES))] == OK
            if port:
                await model.close()
            return urlsplit(url).port or 0

    port = asyncio.run(inference(0))
    assert asyncio.run(inference(port)) == port
    assert asyncio.run(inference(port)) == port


def test_it_uses_a_connection_again() -> None:
    ports = []

    async def answer(request: web.Request) -> web.StreamResponse:
        ports.append(request.transport.get_extra_info("peername")[1] if request.transport else None)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n')
        await response.write(b"data: [DONE]\n\n")
        return response

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/chat/completions", answer)
        async with TestServer(app) as server:
            model = OpenAICompatible("lab", EndpointConfig(str(server.make_url("/"))))
            for _ in range(3):
                assert [chunk async for chunk in model.stream(InferenceRequest("m", MESSAGES))] == OK
            await model.close()

    asyncio.run(main())
    assert len(ports) == 3
    assert len(set(ports)) == 1


@pytest.mark.parametrize(
    "url",
    ["", "api.example.org/v1", "ftp://h/v1", "http://", "http://user:pw@h/v1", "http://h/v1?a=1", "http://h:99999"],
)
def test_it_refuses_a_url_that_could_never_work(url: str) -> None:
    with pytest.raises(ValueError, match=r"base URL|Port"):
        OpenAICompatible("lab", EndpointConfig(url))


def test_it_refuses_a_key_that_no_header_can_carry() -> None:
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        OpenAICompatible("lab", EndpointConfig("http://h/v1", "one\ntwo"))
    assert "two" not in str(caught.value)


@pytest.mark.parametrize("cut", [False, True])
def test_chunks_of_one_read_come_together(cut: bool, http: Build, sse: Build, delta: Build) -> None:
    """The loop, the log and the readers' frames then take all of them in one step."""
    parts = ["Good", " day", " to", " you"]
    body = sse(*map(delta, parts), *([{"error": {"message": "no more"}}] if cut else [delta(finish="stop"), "[DONE]"]))

    async def main() -> tuple[list[Sequence[Chunk]], ProviderError | None]:
        batches: list[Sequence[Chunk]] = []
        async with listening([[http(body)]]) as (url, _):
            model = OpenAICompatible("lab", EndpointConfig(url))
            try:
                async for chunks in model.batches(InferenceRequest("m", MESSAGES)):
                    batches.append(chunks)
            except ProviderError as error:
                return batches, error
            finally:
                await model.close()
        return batches, None

    batches, error = asyncio.run(main())
    assert batches[0] == [Text(part) for part in parts]
    assert batches[1:] == ([] if cut else [[Finish("stop")]])
    assert (error is not None) == cut
