"""What an OpenAI-compatible endpoint offers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.base import Model
from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible

LIST = b"""{"object": "list", "data": [
    {"id": "meta-llama/Llama-3", "object": "model", "created": 1750000000, "owned_by": "vllm"},
    {"id": "nomic-embed-text"}]}"""

Build = Callable[..., Any]


@pytest.fixture
def models(serve: Build) -> Build:
    """Asks an endpoint with these answers for its models; also how often it was asked."""

    def models(*answers: Any, times: int = 1) -> Any:
        async def main() -> Any:
            async with serve(*answers) as (url, upstream):
                model = OpenAICompatible("lab", EndpointConfig(url, "sk-0123456789"))
                try:
                    found = [await model.models() for _ in range(times)]
                finally:
                    await model.close()
                return found, upstream.seen

        return asyncio.run(main())

    return models


def test_it_lists_models_under_its_own_name(models: Build, http: Build) -> None:
    (found,), (seen,) = models([http(LIST, kind="application/json")])
    assert found == [
        Model("lab/meta-llama/Llama-3", "lab", "meta-llama/Llama-3", "llm", 1750000000, {"owned_by": "vllm"}),
        Model("lab/nomic-embed-text", "lab", "nomic-embed-text", "embedding"),
    ]
    assert seen.line == "GET /v1/models HTTP/1.1"
    assert seen.headers["authorization"] == "Bearer sk-0123456789"


def test_it_does_not_ask_twice_in_a_row(models: Build, http: Build) -> None:
    found, seen = models([http(LIST, kind="application/json")], [http(status=500)], times=3)
    assert found[0] == found[1] == found[2]
    assert len(seen) == 1


def test_it_remembers_that_there_are_none(models: Build, http: Build) -> None:
    found, seen = models([http(b'{"data": []}')], times=2)
    assert (found, len(seen)) == ([[], []], 1)


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b'{"data": [{"id": null}]}', b'{"data": ' + b"[" * 100_000, b"\xff"]
)
def test_it_refuses_a_list_it_cannot_read(models: Build, http: Build, body: bytes) -> None:
    with pytest.raises(ProviderError, match="list of models"):
        models([http(body, kind="application/json")])


def test_it_refuses_a_list_without_end(models: Build, http: Build) -> None:
    with pytest.raises(ProviderError) as caught:
        models([http(b"x" * (8 * 2**20 + 1), kind="application/json"), "hang"])
    assert caught.value.code == "output_too_large"


def test_it_says_why_there_is_no_list(models: Build, http: Build) -> None:
    with pytest.raises(ProviderError, match="lab answered 401: who are you\\?") as caught:
        models([http(b'{"detail": "who are you?"}', status=401)])
    assert caught.value.upstream_status == 401
