"""What an agent's configuration says of tools and sampling reaches the model's endpoint, by the official client."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from llama_stack_client import BadRequestError, LlamaStackClient

from tests.llama_stack.live.test_client import get_time, make_agent
from tests.support.live.library import opened_client, turn_of
from tests.support.live.process import ServerProcess
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server
_numbers = itertools.count()


@pytest.fixture
def client(guarded: ServerProcess) -> Iterator[LlamaStackClient]:
    with opened_client(guarded.base) as client:
        yield client


def asked(client: LlamaStackClient, lab: ModelLab, **config: Any) -> dict[str, Any]:
    """The request the endpoint gets for a turn of an agent with this configuration."""
    question = f"tool choice {next(_numbers)}"
    agent = make_agent(client, model="lab/chat", tools=[get_time], **config)
    turn_of(agent, question, agent.sessions[0])
    return lab.sent("/chat/completions", question)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ("get_time", {"type": "function", "function": {"name": "get_time"}}),
    ],
)
def test_a_choice_is_handed_on(client: LlamaStackClient, lab: ModelLab, choice: str, sent: Any) -> None:
    request = asked(client, lab, tool_config={"tool_choice": choice})
    assert request.get("tool_choice", "auto") == sent
    assert [tool["function"]["name"] for tool in request["tools"]] == ["get_time"]


def test_none_sends_no_tools(client: LlamaStackClient, lab: ModelLab) -> None:
    request = asked(client, lab, tool_config={"tool_choice": "none"})
    assert not {"tools", "tool_choice"} & set(request)


def test_a_choice_of_a_tool_that_is_none_is_refused(client: LlamaStackClient) -> None:
    with pytest.raises(BadRequestError, match="tool_choice: there is no tool 'get_moon'"):
        make_agent(client, tools=[get_time], tool_config={"tool_choice": "get_moon"})


def test_sampling_and_format_are_handed_on(client: LlamaStackClient, lab: ModelLab) -> None:
    schema = {"title": "Answer", "type": "object", "properties": {"a": {"type": "string"}}}
    request = asked(
        client,
        lab,
        sampling_params={
            "strategy": {"type": "top_p", "temperature": 0.3, "top_p": 0.8},
            "max_tokens": 77,
            "stop": ["END"],
        },
        response_format={"type": "json_schema", "json_schema": schema},
        instructions="Be terse.",
    )
    assert (request["temperature"], request["top_p"], request["max_tokens"], request["stop"]) == (0.3, 0.8, 77, ["END"])
    assert request["response_format"]["json_schema"]["schema"] == schema
    assert request["messages"][0] == {"role": "system", "content": "Be terse."}
