"""What an agent is configured with reaches its endpoint, in chat completions' words."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.support.live.caller import Caller, Talk, tool
from tests.support.live.process import ServerProcess
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

SCHEMA = {"title": "Answer", "type": "object", "properties": {"answer": {"type": "string"}}}
LOOKUP, NOTE = tool("lookup", "query"), tool("note", "text")


@pytest.fixture
def sent(guarded: ServerProcess, lab: ModelLab) -> Any:
    """The body that reached the endpoint for one turn of an agent so configured."""

    def sent(**config: Any) -> dict[str, Any]:
        question = f"question {uuid.uuid4()}"
        assert Talk(Caller(guarded.port), model="lab/chat", **config).say(question).status == 200
        return lab.sent("/chat/completions", question)

    return sent


@pytest.mark.parametrize(
    ("sampling", "reached"),
    [
        ({}, {"temperature": 0}),
        ({"strategy": {"type": "top_p", "temperature": 0.7, "top_p": 0.9}}, {"temperature": 0.7, "top_p": 0.9}),
        ({"strategy": {"type": "top_k", "top_k": 40}}, {"top_k": 40}),
        ({"max_tokens": 50, "repetition_penalty": 1.2}, {"max_tokens": 50, "repetition_penalty": 1.2}),
        ({"max_tokens": 0, "repetition_penalty": 1.0, "stop": []}, {"temperature": 0}),
        ({"stop": ["END", "\n\n"]}, {"stop": ["END", "\n\n"]}),
    ],
)
def test_sampling(sent: Any, sampling: dict[str, Any], reached: dict[str, Any]) -> None:
    body = sent(sampling_params=sampling)
    names = {"temperature", "top_p", "top_k", "max_tokens", "repetition_penalty", "stop"}
    default = {} if sampling.get("strategy") else {"temperature": 0}
    assert {name: body[name] for name in names & set(body)} == {**default, **reached}


def test_response_formats(sent: Any) -> None:
    body = sent(response_format={"type": "json_schema", "json_schema": SCHEMA})
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"name": "Answer", "schema": SCHEMA}}
    body = sent(response_format={"type": "grammar", "bnf": {"root": "x"}})
    assert body["response_format"] == {"type": "grammar", "grammar": {"root": "x"}}


@pytest.mark.parametrize(
    ("choice", "reached"),
    [
        ("auto", None),
        ("required", "required"),
        ("note", {"type": "function", "function": {"name": "note"}}),
    ],
)
def test_tool_choice(sent: Any, choice: str, reached: Any) -> None:
    body = sent(client_tools=[LOOKUP, NOTE], tool_config={"tool_choice": choice})
    assert body.get("tool_choice") == reached
    assert [one["function"]["name"] for one in body["tools"]] == ["lookup", "note"]


def test_none_shows_no_tools(sent: Any) -> None:
    body = sent(client_tools=[LOOKUP, NOTE], tool_config={"tool_choice": "none"})
    assert body.keys().isdisjoint({"tools", "tool_choice"})


def test_no_instructions_are_no_message(sent: Any) -> None:
    assert [message["role"] for message in sent(instructions="")["messages"]] == ["user"]
    assert [message["role"] for message in sent(instructions="Be kind.")["messages"]] == ["system", "user"]
