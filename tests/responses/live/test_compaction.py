"""Conversations that are summed up: asked for by a client, or once they are too long."""

from __future__ import annotations

import base64
import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from agents.record.schemas.compaction import INTRODUCTION
from tests.support.live.caller import Caller, script
from tests.support.live.openai_api import MODEL, frames_of, function, said

pytestmark = pytest.mark.server

TRIGGER: Any = {"type": "compaction_trigger"}
LONG = "word " * 200
ROUNDS = script("call look {}", "then", "call look {}", "then", "say Seen.")
OUTPUT = {"type": "function_call_output", "output": LONG}
TOOLS: Any = [function("look")]


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


def managed(threshold: int) -> Any:
    return [{"type": "compaction", "compact_threshold": threshold}]


def types(response: Any) -> list[str]:
    return [item.type for item in response.output]


def compaction(response: Any) -> dict[str, Any]:
    item: dict[str, Any]
    [item] = [item.to_dict() for item in response.output if item.type == "compaction"]
    return item


# ---------------------------------------------------------------------------------------- asked for


@pytest.mark.parametrize("store", [True, False])
def test_a_trigger_is_answered_by_the_summary_alone(client: OpenAI, store: bool) -> None:
    items: Any = [said("My cat is Ada."), said("I see.", "assistant"), TRIGGER]
    response = client.responses.create(model=MODEL, input=items, store=store)
    assert response.status == "completed"
    assert types(response) == ["compaction"]
    assert b"Ada" not in base64.urlsafe_b64decode(compaction(response)["encrypted_content"])
    assert response.usage is not None
    assert response.usage.output_tokens > 0
    if store:
        assert client.responses.retrieve(response.id).to_dict()["output"] == response.to_dict()["output"]


@pytest.mark.parametrize("store", [True, False])
def test_its_stream_has_exactly_one_item(caller: Caller, store: bool) -> None:
    body = {"model": MODEL, "input": [said("Hello"), TRIGGER], "stream": True, "store": store}
    frames = frames_of(caller.post("/v1/responses", body).body)
    assert [frame.type for frame in frames] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.compaction.compacting",
        "response.output_item.done",
        "response.completed",
    ]
    response = frames[-1].data["response"]
    assert response["output"] == [frames[-2].data["item"]]
    if store:
        again = frames_of(caller.get(f"/v1/responses/{response['id']}?stream=true").body)
        assert [frame.raw for frame in again] == [frame.raw for frame in frames]


def test_a_client_that_keeps_the_history_goes_on_from_the_summary(client: OpenAI) -> None:
    asked: Any = [said(ROUNDS), *called("c1"), TRIGGER]
    item = compaction(client.responses.create(model=MODEL, input=asked, store=False, tools=TOOLS))
    next_input: Any = [said(ROUNDS), item]
    response = client.responses.create(model=MODEL, input=next_input, store=False, tools=TOOLS)
    assert types(response) == ["function_call"]  # the second round: the summary knows of the first
    answered: Any = [*next_input, response.output[0].to_dict(), {**OUTPUT, "call_id": call_id(response)}]
    last = client.responses.create(model=MODEL, input=answered, store=False, tools=TOOLS)
    assert last.output_text == "Seen."


def called(call: str) -> list[dict[str, Any]]:
    return [
        {"type": "function_call", "call_id": call, "name": "look", "arguments": "{}"},
        {**OUTPUT, "call_id": call},
    ]


def call_id(response: Any) -> str:
    return str(response.output[-1].call_id)


def test_a_stored_conversation_goes_on_from_the_summary(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input="My cat is Ada.")
    summary = client.responses.create(model=MODEL, input=[TRIGGER], previous_response_id=first.id)
    assert types(summary) == ["compaction"]
    tokens = client.responses.input_tokens.count(model=MODEL, input=[], previous_response_id=summary.id)
    words = f"My cat is Ada.\n{INTRODUCTION} The question was: My cat is Ada.\nRounds of tools since then: 0."
    assert tokens.input_tokens == len(words.split())


def test_compact_returns_the_messages_of_users_and_the_summary(client: OpenAI, caller: Caller) -> None:
    items: Any = [said("My cat is Ada."), said("I see.", "assistant"), said("And my dog is Bob.")]
    output = caller.post("/v1/responses/compact", {"model": MODEL, "input": items, "prompt_cache_key": "k"}).json[
        "output"
    ]
    assert [item["type"] for item in output] == ["message", "message", "compaction"]
    assert [item["content"][0]["text"] for item in output[:2]] == ["My cat is Ada.", "And my dog is Bob."]
    again: Any = [*output, said("Hello")]
    assert client.responses.create(model=MODEL, input=again, store=False).status == "completed"


def test_compact_goes_on_from_a_stored_response(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input="My cat is Ada.")
    compacted = client.responses.compact(model=MODEL, previous_response_id=first.id)
    assert [item.type for item in compacted.output] == ["message", "compaction"]
    assert compacted.object == "response.compaction"
    assert compacted.usage.total_tokens > 0


# ------------------------------------------------------------------------------------ once too long


def test_a_long_conversation_is_summed_up_before_the_answer(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=f"Keep this. {LONG}")
    second = client.responses.create(
        model=MODEL, input="Hello", previous_response_id=first.id, context_management=managed(100)
    )
    assert types(second) == ["compaction", "message"]
    short = client.responses.create(model=MODEL, input="Hello", context_management=managed(100))
    assert types(short) == ["message"]


def test_it_is_summed_up_between_the_rounds_of_a_turn(client: OpenAI) -> None:
    """With tools that a client runs each round is a response; the script goes on although its rounds are gone."""
    rule = managed(400)
    response = client.responses.create(model=MODEL, input=ROUNDS, tools=TOOLS, context_management=rule)
    seen = [types(response)]
    while response.output[-1].type == "function_call":
        output: Any = [{**OUTPUT, "call_id": call_id(response), "output": LONG * 2}]
        response = client.responses.create(
            model=MODEL, input=output, tools=TOOLS, previous_response_id=response.id, context_management=rule
        )
        seen.append(types(response))
    assert seen == [["function_call"], ["compaction", "function_call"], ["compaction", "message"]]
    assert response.output_text == "Seen."


def test_what_a_model_is_asked_has_all_before_it_and_no_tools(client: OpenAI, caller: Caller) -> None:
    items: Any = [said("Hello"), TRIGGER]
    response = client.responses.create(model=MODEL, input=items, tools=TOOLS)
    assert types(response) == ["compaction"]
    steps = caller.get("/v1/logs/steps?q=kind:compaction").json["data"]
    assert steps[0]["type"] == "inference"
    assert steps[0]["model"] == MODEL


# ------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([TRIGGER], None),
        ([TRIGGER, said("Hello")], None),
        ([{"type": "compaction", "encrypted_content": "x"}, said("Hello")], "invalid_encrypted_content"),
        ([{"type": "compaction", "encrypted_content": "A" * 500}, said("Hello")], "invalid_encrypted_content"),
        ([{"type": "compaction"}, said("Hello")], None),
    ],
)
def test_bad_items_are_refused(client: OpenAI, items: Any, code: str | None) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=MODEL, input=items)
    assert str(caught.value.param).startswith("input")
    assert code in (None, caught.value.code)


def test_reasoning_is_no_summary(client: OpenAI) -> None:
    wanted: Any = ["reasoning.encrypted_content"]
    response = client.responses.create(model=MODEL, input=script("think Hm.", "say Yes."), include=wanted)
    [sealed] = [item.to_dict()["encrypted_content"] for item in response.output if item.type == "reasoning"]
    items: Any = [{"type": "compaction", "encrypted_content": sealed}, said("Hello")]
    with pytest.raises(openai.BadRequestError, match="has not made it for this user"):
        client.responses.create(model=MODEL, input=items)


@pytest.mark.parametrize("rule", [[{"type": "clear"}], [{"type": "compaction", "compact_threshold": 0}], "x", [7]])
def test_bad_rules_are_refused(caller: Caller, rule: Any) -> None:
    answer = caller.post("/v1/responses", {"model": MODEL, "input": "Hello", "context_management": rule})
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["param"].startswith("context_management")


def test_a_summary_that_fails_fails_the_response(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input="Hello")
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model="scripted/none", input=[TRIGGER], previous_response_id=first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.compact(model="scripted/none", input="Hello")
    with pytest.raises(openai.BadRequestError, match="nothing"):
        client.responses.compact(model=MODEL)
    assert client.responses.create(model=MODEL, input="Hi", previous_response_id=first.id).status == "completed"
