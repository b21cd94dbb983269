"""The configured endpoints: names, defaults, and what all of them offer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible
from agents.loop.inference.registry import Endpoints
from agents.loop.inference.scripted import ScriptedEndpoint

Build = Callable[..., Any]

LOCAL = EndpointConfig("http://127.0.0.1:1/v1", "sk-0123456789")


@pytest.mark.parametrize(
    ("model", "endpoint", "name"),
    [
        ("gpt-4o", "openai", "gpt-4o"),
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("vllm/meta-llama/Llama-3", "vllm", "meta-llama/Llama-3"),
        ("meta-llama/Llama-3", "openai", "meta-llama/Llama-3"),
        ("scripted/demo", "scripted", "demo"),
        ("OpenAI/gpt-4o", "openai", "OpenAI/gpt-4o"),
        ("vllm", "openai", "vllm"),
        ("vllm/", "openai", "vllm/"),
        ("/gpt-4o", "openai", "/gpt-4o"),
        ("", "openai", ""),
    ],
)
def test_it_resolves_a_model_name(model: str, endpoint: str, name: str) -> None:
    endpoints = Endpoints.from_config({"openai": LOCAL, "vllm": LOCAL})
    found, known_as = endpoints.resolve(model)
    assert (found.name, known_as) == (endpoint, name)


def test_it_is_scripted_by_default() -> None:
    endpoints = Endpoints.from_config({})
    assert (endpoints.default, endpoints.names) == ("scripted", ["scripted"])
    assert isinstance(endpoints.resolve("demo")[0], ScriptedEndpoint)


def test_it_prefers_a_configured_endpoint() -> None:
    assert Endpoints.from_config({"openai": LOCAL, "vllm": LOCAL}).default == "openai"
    assert Endpoints.from_config({"openai": LOCAL, "vllm": LOCAL}, default="vllm").default == "vllm"
    assert Endpoints.from_config({"openai": LOCAL}, default="scripted").default == "scripted"


def test_it_lets_a_configured_endpoint_be_called_scripted() -> None:
    assert isinstance(Endpoints.from_config({"scripted": LOCAL}).resolve("x")[0], OpenAICompatible)


@pytest.mark.parametrize("name", ["", "a/b"])
def test_it_refuses_a_name_that_no_model_could_carry(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be named"):
        Endpoints.from_config({name: LOCAL})


def test_it_refuses_a_default_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'other' is none of openai, scripted"):
        Endpoints.from_config({"openai": LOCAL}, default="other")


def test_it_keeps_the_key_to_itself() -> None:
    assert "sk-" not in repr(LOCAL)


def test_it_lists_what_the_living_offer_and_why_the_dead_do_not(serve: Build, http: Build) -> None:
    async def main() -> None:
        async with serve([http(b'{"data": [{"id": "a"}]}', kind="application/json")]) as (url, _):
            endpoints = Endpoints.from_config({"dead": LOCAL, "live": EndpointConfig(url)})
            catalogue = await endpoints.all_models()
            await endpoints.close()
        assert [model.id for model in catalogue.models] == ["live/a", "scripted/demo", "scripted/fast"]
        assert {name: error.provider for name, error in catalogue.errors.items()} == {"dead": "dead"}

    asyncio.run(main())


def test_it_asks_all_at_once(serve: Build, http: Build) -> None:
    body = http(b'{"data": []}', kind="application/json")

    async def main() -> None:
        async with serve(["wait", body]) as (url, slow), serve([body]) as (other_url, quick):
            endpoints = Endpoints.from_config({"slow": EndpointConfig(url), "quick": EndpointConfig(other_url)})
            asking = asyncio.create_task(endpoints.all_models())
            await quick.answered.wait()
            assert not asking.done()
            slow.go.set()
            assert (await asking).errors == {}
            await endpoints.close()

    asyncio.run(main())


def test_it_waits_for_a_late_one_once(serve: Build, http: Build) -> None:
    body = http(b'{"data": [{"id": "a"}]}', kind="application/json")

    async def main() -> None:
        async with serve(["wait", body]) as (url, slow), serve([body]) as (other_url, _):
            endpoints = Endpoints.from_config({"slow": EndpointConfig(url), "quick": EndpointConfig(other_url)})
            for patience_s in (0.05, 60.0):  # the second time it is not asked: nobody lets it go on
                catalogue = await endpoints.all_models(patience_s)
                assert [model.id for model in catalogue.models][:1] == ["quick/a"]
                assert {name: error.code for name, error in catalogue.errors.items()} == {"slow": "timeout"}
            slow.go.set()
            await endpoints.close()

    asyncio.run(main())
