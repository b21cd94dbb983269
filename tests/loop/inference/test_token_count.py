"""How many tokens a request has: counted by endpoints that count, else estimated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from agents.loop.inference.base import InferenceRequest
from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible
from agents.loop.token_estimate import IMAGE_TOKENS, estimated_tokens
from agents.record.schemas.content import ToolDef

Build = Callable[..., Any]
MESSAGE = b'{"role":"user","content":"Hello"}'
REQUEST = InferenceRequest("llama", [MESSAGE], [ToolDef(name="look")])


def counted(serve: Build, *answers: Any, times: int = 1) -> Any:
    """The counts that an endpoint with these answers gives, and what it was sent."""

    async def main() -> Any:
        async with serve(*answers) as (url, upstream):
            model = OpenAICompatible("lab", EndpointConfig(url, "sk-0123456789"))
            try:
                return [await model.count_tokens(REQUEST) for _ in range(times)], upstream.seen
            finally:
                await model.close()

    return asyncio.run(main())


def test_an_endpoint_counts_beside_its_v1(serve: Build, http: Build) -> None:
    counts, [seen] = counted(serve, [http(b'{"count": 12, "max_model_len": 4096}', kind="application/json")])
    assert counts == [12]
    assert seen.line == "POST /tokenize HTTP/1.1"
    assert seen.headers["authorization"] == "Bearer sk-0123456789"
    assert seen.json["model"] == "llama"
    assert seen.json["messages"] == [msgspec.json.decode(MESSAGE)]
    assert [tool["function"]["name"] for tool in seen.json["tools"]] == ["look"]


def test_one_that_cannot_is_asked_once(serve: Build, http: Build) -> None:
    for answer in (
        http(b"{}", status=404),
        http(b"<p>Hello</p>", kind="text/html"),
        http(b'{"tokens": 1}', kind="application/json"),
    ):
        counts, seen = counted(serve, [answer], times=3)
        assert counts == [None] * 3
        assert len(seen) == 1


def test_one_that_fails_is_asked_again(serve: Build, http: Build) -> None:
    counts, seen = counted(serve, [http(b"{}", status=503)], [http(b'{"count": 12}', kind="application/json")], times=2)
    assert counts == [None, 12]
    assert len(seen) == 2


def test_an_image_counts_the_same_whatever_its_size() -> None:
    def with_image(size: int) -> bytes:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * size}}
        return msgspec.json.encode({"role": "user", "content": [{"type": "text", "text": "Look"}, image]})

    assert estimated_tokens([with_image(10)]) == estimated_tokens([with_image(1_000_000)])
    assert IMAGE_TOKENS < estimated_tokens([with_image(10)]) < IMAGE_TOKENS + 50
    assert estimated_tokens([MESSAGE] * 100) == 100 * (len(MESSAGE) // 4)
    assert estimated_tokens([MESSAGE], REQUEST.tools) > estimated_tokens([MESSAGE])
