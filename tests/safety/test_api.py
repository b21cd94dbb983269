"""Shields, moderation, models, spans and inference, asked for wrongly: refused by field, never a 5xx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.loop.models import RegisteredModel
from agents.relay.models import ChatCompletion
from agents.safety.models import Shield
from tests.server.api.test_bad_input import CLIENT, refusal
from tests.support.inprocess import body_of
from tests.support.input_corpus import NO_JSON, hostile_bodies, wrong_bodies

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

HELLO = [{"role": "user", "content": "hello"}]
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "hello"}]},
    {"role": "assistant", "content": "", "stop_reason": "end_of_turn", "tool_calls": []},
    {"role": "tool", "call_id": "c", "content": "result"},
]
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
BODIES: dict[str, dict[str, Any]] = {
    "shields": {
        "shield_id": "words",
        "provider_id": "rules",
        "provider_shield_id": "x",
        "params": {
            "rules": [
                {"name": "n", "keywords": ["w"], "pattern": "p", "touchpoints": ["user-input"], "level": "warn"},
            ]
        },
    },
    "safety/run-shield": {"shield_id": "demo_guard", "messages": TALK, "params": {}},
    "moderations": {"input": ["a", "b"], "model": "demo_guard"},
    "models": {
        "model_id": "mine",
        "provider_id": "scripted",
        "provider_model_id": "fast",
        "metadata": {"k": "v"},
        "model_type": "llm",
    },
    "telemetry/spans": {
        "attribute_filters": [{"key": "agent_name", "op": "eq", "value": "x"}],
        "attributes_to_return": ["input"],
        "max_depth": 3,
    },
    "inference/chat-completion": {
        "model_id": "scripted/fast",
        "messages": TALK,
        "tools": [{"tool_name": "t", "parameters": {"p": {"param_type": "str", "required": True}}}],
        "tool_choice": "auto",
        "sampling_params": {"strategy": {"type": "top_p", "temperature": 0.5}, "max_tokens": 5},
        "stream": False,
    },
    "inference/completion": {"model_id": "scripted/fast", "content": "hello", "stream": False},
    "inference/embeddings": {"model_id": "scripted/embed", "contents": ["a", {"type": "text", "text": "b"}]},
    "embeddings": {"model": "scripted/embed", "input": ["a"], "encoding_format": "float", "dimensions": 384},
    "completions": {
        "model": "scripted/fast",
        "prompt": ["hello", "a kettle"],
        "n": 2,
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 5,
        "stop": ["x"],
        "stream": False,
        "echo": False,
        "logprobs": None,
        "suffix": None,
        "best_of": 2,
    },
    "chat/completions": {
        "model": "scripted/fast",
        "messages": [*HELLO, {"role": "assistant", "content": "hi"}, *HELLO],
        "tools": [{"type": "function", "function": FUNCTION}],
        "tool_choice": "auto",
        "temperature": 0.5,
        "max_tokens": 5,
        "stop": ["x"],
        "stream": False,
        "store": True,
        "metadata": {"k": "v"},
    },
}


def post(route: str, body: Any) -> Any:
    raw = body if isinstance(body, bytes | str) else json.dumps(body)
    return CLIENT.generic("POST", f"/v1/{route}", raw, "application/json")


def clear() -> None:
    for model in (Shield, RegisteredModel, ChatCompletion):
        model.objects.unscoped("test").delete()


def stored() -> int:
    return sum(model.objects.unscoped("test").count() for model in (Shield, RegisteredModel, ChatCompletion))


@pytest.fixture(autouse=True)
def _nothing_stored(_served: None) -> Iterator[None]:
    clear()
    yield
    clear()


@pytest.mark.parametrize("route", BODIES)
def test_the_bodies_below_are_valid(route: str) -> None:
    response = post(route, BODIES[route])
    assert response.status_code == 200, response.content


@pytest.mark.parametrize("route", BODIES)
def test_what_is_no_json_is_refused(route: str) -> None:
    for name, body in NO_JSON.items():
        response = post(route, body)
        assert response.status_code == 400, name
        assert refusal(response)["code"] == "invalid_json"
    assert stored() == 0


REFUSALS = {400, 404, 409}


@pytest.mark.corpus
@pytest.mark.parametrize("route", BODIES)
def test_wrong_values_are_refused_by_their_field(route: str) -> None:
    for name, body in wrong_bodies(BODIES[route]):
        if name.startswith("('stream',)"):
            continue  # a stream needs a loop that outlives its request; see below, and tests/server
        before = stored()
        response = post(route, body)
        if response.status_code in REFUSALS:
            assert refusal(response)["message"], name
            if route != "chat/completions":  # its calls are logged when they fail, too
                assert stored() == before, name
        else:
            assert response.status_code == 200, (name, response.status_code, response.content[:300])
            body_of(response)
        clear()


@pytest.mark.parametrize("route", BODIES)
def test_hostile_texts_are_taken_or_refused(route: str) -> None:
    for name, body in hostile_bodies(BODIES[route]):
        response = post(route, body)
        assert response.status_code in {200, *REFUSALS}, (name, response.status_code, response.content[:300])
        body_of(response)
    for listed in ("shields", "models", "chat/completions?limit=100"):
        assert CLIENT.get(f"/v1/{listed}").status_code == 200


# -------------------------------------------------------------------------------------------- reasons

WRONG = [
    ("shields", {"shield_id": "x", "provider_id": "none"}, "provider_id", "llama-guard, rules"),
    ("shields", {"shield_id": "demo_guard", "provider_id": "scripted"}, "shield_id", "settings"),
    ("shields", {"shield_id": "x", "provider_id": "moderation"}, "provider_shield_id", "/moderations"),
    ("models", {"model_id": "x", "provider_id": "none"}, "provider_id", "there are scripted"),
    ("models", {"model_id": "scripted/other", "provider_model_id": "fast"}, "model_id", "that endpoint's"),
    ("moderations", {"input": []}, "input", ""),
    ("safety/run-shield", {"shield_id": "demo_guard", "messages": []}, "messages", "at least 1"),
    (
        "safety/run-shield",
        {"shield_id": "demo_guard", "messages": HELLO, "params": {"phrase": ["x"]}},
        "params.phrase",
        "of a run of 'scripted' are phrases",
    ),
    (
        "safety/run-shield",
        {"shield_id": "demo_guard", "messages": HELLO, "params": {"phrases": []}},
        "params.phrases",
        "at least 1",
    ),
    ("chat/completions", {"model": "scripted/fast", "messages": []}, "messages", "at least 1"),
    ("chat/completions", {"model": "scripted/fast", "messages": HELLO, "n": 2}, "n", "1"),
    (
        "chat/completions",
        {"model": "scripted/fast", "messages": HELLO, "tools": [{"type": "x"}]},
        "tools.0",
        "function",
    ),
    ("completions", {"model": "scripted/fast"}, "prompt", "required"),
    ("completions", {"model": "scripted/fast", "prompt": []}, "prompt", "1 to 128 texts"),
    ("completions", {"model": "scripted/fast", "prompt": ["a", 1]}, "prompt", "1 to 128 texts"),
    ("completions", {"model": "scripted/fast", "prompt": ["a"] * 129}, "prompt", "1 to 128 texts"),
    ("completions", {"model": "scripted/fast", "prompt": [[]]}, "prompt", "1 to 128 texts"),
    ("completions", {"model": "scripted/fast", "prompt": {"a": 1}}, "prompt", "1 to 128 texts"),
    ("completions", {"model": "scripted/fast", "prompt": [1, 2]}, "prompt", "not tokens"),
    ("completions", {"model": "scripted/fast", "prompt": [[1], [2]]}, "prompt", "not tokens"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "n": 0}, "n", "greater than"),
    ("completions", {"model": "scripted/fast", "prompt": ["a", "b"], "n": 65}, "n", "more than 128"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "best_of": 3}, "best_of", "cannot choose"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "echo": True}, "echo", "does not give"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "logprobs": 0}, "logprobs", "probabilities"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "suffix": "z"}, "suffix", "fill in"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "max_tokens": 0}, "max_tokens", "greater than"),
    ("completions", {"model": "scripted/fast", "prompt": "a", "temperature": 3}, "temperature", "less than"),
    ("inference/embeddings", {"model_id": "none", "contents": ["a"]}, "model_id", "not found"),
    ("embeddings", {"model": "scripted/embed", "input": [1, 2]}, "input", "not tokens"),
    ("embeddings", {"model": "scripted/embed", "input": "a", "dimensions": 5}, "dimensions", "384"),
]


@pytest.mark.parametrize(("route", "body", "param", "words"), WRONG)
def test_the_reason_is_told(route: str, body: Any, param: str, words: str) -> None:
    error = refusal(post(route, body))
    assert error["param"].startswith(param)
    assert words in error["message"]


@pytest.mark.parametrize(
    "route", ["completions", "chat/completions", "inference/chat-completion", "inference/completion"]
)
@pytest.mark.parametrize("value", ["x", 2, [], {}, 1.5])
def test_stream_is_a_yes_or_a_no(route: str, value: Any) -> None:
    assert refusal(post(route, {**BODIES[route], "stream": value}))["param"] == "stream"


def violated(shield_id: str, **body: Any) -> bool:
    answer = post("safety/run-shield", {"shield_id": shield_id, "messages": HELLO, **body})
    assert answer.status_code == 200, answer.content
    return answer.json()["violation"] is not None


def test_a_run_brings_parameters_of_its_own() -> None:
    """For this run alone, and none but those it may choose."""
    assert violated("demo_guard", params={"phrases": ["hell"]})
    assert not violated("demo_guard", params={})
    assert not violated("demo_guard", params=None)
    post("shields", {"shield_id": "own", "provider_id": "scripted", "params": {"phrases": ["hello"]}})
    assert violated("own")
    assert not violated("own", params={"phrases": ["goodbye"]})
    assert violated("own")
    assert post("shields", BODIES["shields"]).status_code == 200
    rules = {"rules": [{"keywords": ["hello"]}]}
    error = refusal(post("safety/run-shield", {"shield_id": "words", "messages": HELLO, "params": rules}))
    assert error["param"] == "params.rules"


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=x", "order=up", "after=x", "limit=9999999"])
def test_a_wrong_page_of_completions_is_refused(query: str) -> None:
    response = CLIENT.get(f"/v1/chat/completions?{query}")
    assert response.status_code == 400
    assert refusal(response)["param"] == query.partition("=")[0]


def test_a_model_may_be_registered_under_its_own_name() -> None:
    """Clients make sure of their model so."""
    made = post("models", {"model_id": "scripted/fast", "provider_id": "scripted"})
    assert (made.status_code, made.json()["provider_resource_id"]) == (200, "fast")
    assert stored() == 0


def test_a_registered_model_answers_to_its_name() -> None:
    assert post("models", BODIES["models"]).status_code == 200
    answer = post("chat/completions", {"model": "mine", "messages": HELLO}).json()
    assert (answer["model"], answer["choices"][0]["finish_reason"]) == ("mine", "stop")
    assert post("models", {**BODIES["models"], "provider_model_id": "demo"}).status_code == 409
    assert CLIENT.delete("/v1/models/mine").status_code == 204
    refused = refusal(post("chat/completions", {"model": "mine", "messages": HELLO}))
    assert refused["code"] == "model_not_found"
