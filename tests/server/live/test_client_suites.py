"""Clients of other versions and makers against the live server, each in an environment of its own."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from llama_stack_client import LlamaStackClient

from tests.support.live import client_venvs
from tests.support.live.caller import Caller, script
from tests.support.live.mcp_process import served
from tests.support.live.openai_api import MODEL, function
from tests.support.live.process import ServerProcess

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.several, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def _pip_may_go_where_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of their own talk to the registry; the proxy that the tests shut out is pip's."""
    monkeypatch.delenv("NO_PROXY")


# ----------------------------------------------------------------------- llama-stack-client 0.3: Agent

Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def agent(server: ServerProcess) -> dict[str, Any]:
    """What its ``Agent`` did, one program for all tests of it."""
    done: dict[str, Any] = client_venvs.run("llama-stack-client-0.3.5", "llama_agent.py", server.base)
    return done


def shape(events: Events) -> list[str]:
    """The events in a word or two each, repeated ones once."""
    names = []
    for event in events:
        more = [event.get("step_type"), event.get("delta", {}).get("delta_type")]
        names.append(" ".join([event["event_type"], *filter(None, more)]))
    return [name for name, _ in itertools.groupby(names)]


SAYS = ["step_started inference", "step_progress inference text", "step_completed inference"]
CALLS = ["step_started inference", "step_progress inference tool_call_issued", "step_completed inference"]
TOOLS = ["step_started tool_execution", "step_completed tool_execution"]


def test_a_turn_without_tools_is_one_step(agent: dict[str, Any]) -> None:
    for name, words in (("words", "Hello there,\nfriend."), ("again", "And again.")):
        events = agent[name]
        assert shape(events) == ["turn_started", *SAYS, "turn_completed"]
        last = events[-1]
        assert (last["final_text"], last["num_steps"], len(last["response_ids"])) == (words, 1, 1)
        typed = "".join(event["delta"]["text"] for event in events if event["event_type"] == "step_progress")
        assert typed == words
        assert events[-2]["result"]["stop_reason"] == "end_of_turn"
    assert agent["whole"] == "Not streamed."
    assert agent["metadata"] == {"name": "a talk"}


def test_a_clients_tool_is_a_step_of_its_own(agent: dict[str, Any]) -> None:
    events = agent["tools"]
    first = [SAYS[0], SAYS[1], CALLS[1], CALLS[2]]
    assert shape(events) == ["turn_started", *first, *TOOLS, *SAYS, "turn_completed"]
    [started] = [one for one in events if one["event_type"] == "step_started" and one["metadata"]]
    assert started["metadata"] == {"server_side": False}
    inferred, ran, _ = [one["result"] for one in events if one["event_type"] == "step_completed"]
    assert inferred["stop_reason"] == "tool_calls"
    [call] = inferred["function_calls"]
    assert (call["tool_name"], json.loads(call["arguments"])) == ("get_weather", {"city": "Paris"})
    [response] = ran["tool_responses"]
    assert response["call_id"] == call["call_id"]
    assert "sunny in Paris" in response["content"]
    assert (events[-1]["final_text"], events[-1]["num_steps"]) == ("It is sunny.", 3)
    assert len(set(events[-1]["response_ids"])) == 2


def test_calls_may_be_many_and_again(agent: dict[str, Any]) -> None:
    events = agent["both"]
    assert shape(events) == ["turn_started", *CALLS, *TOOLS, *CALLS, *TOOLS, *SAYS, "turn_completed"]
    results = [one["result"] for one in events if one["event_type"] == "step_completed"]
    assert [len(one["tool_calls"]) for one in results if "tool_calls" in one] == [2, 1]
    assert len(events[-1]["response_ids"]) == 3


def test_a_tool_of_the_servers_is_a_step_too(agent: dict[str, Any]) -> None:
    events = agent["searched"]
    [started] = [one for one in events if one["event_type"] == "step_started" and one["metadata"]]
    assert started["metadata"]["server_side"] is True
    assert (started["metadata"]["tool_type"], started["step_type"]) == ("file_search", "tool_execution")
    kinds = [one["step_type"] for one in events if one["event_type"] == "step_completed"]
    assert kinds == ["inference", "tool_execution", "inference"]
    assert (events[-1]["event_type"], events[-1]["final_text"]) == ("turn_completed", "It was sent back.")


def test_a_conversation_holds_all_of_it(agent: dict[str, Any]) -> None:
    first = ["message", "message", "function_call", "function_call_output", "message"]
    second = ["message", *["function_call"] * 2, *["function_call_output"] * 2]
    assert agent["items"] == [*first, *second, "function_call", "function_call_output", "message"]


def test_a_failure_is_told_as_one(agent: dict[str, Any]) -> None:
    assert agent["failed"][-1]["event_type"] == "turn_failed"
    assert "on fire" in agent["failed"][-1]["error_message"]
    assert agent["stored"].startswith("resp_")


def test_the_clients_turn_is_one_turn_of_the_log(agent: dict[str, Any], server: ServerProcess) -> None:
    """Three responses, one turn with a step for each thing done."""
    ids = agent["both"][-1]["response_ids"]
    caller = Caller(server.port)
    conversation = caller.get(f"/v1/responses/{ids[0]}").json["conversation"]["id"]
    listed = caller.get(f"/v1/responses?conversation={conversation}&order=asc").json["data"]
    assert [one["id"] for one in listed][-3:] == ids
    rows = caller.get("/v1/logs/turns?limit=1000").json["data"]
    [row] = [one for one in rows if one["output_preview"] == "Everywhere."]
    assert [step["type"] for step in row["steps"]] == [
        "inference",
        "tool_execution",
        "tool_execution",
        "inference",
        "tool_execution",
        "inference",
    ]


# ------------------------------------------------------------------------------------- openai-agents


@pytest.fixture(scope="module")
def sdk(server: ServerProcess) -> dict[str, Any]:
    """What the Agents SDK did."""
    with served() as lab:
        done: dict[str, Any] = client_venvs.run("openai-agents", "agents_sdk.py", server.base, lab.url)
    return done


def test_the_runner_calls_functions(sdk: dict[str, Any]) -> None:
    done = sdk["tools"]
    assert done["said"] == "It is sunny."
    assert done["outputs"] == ["sunny in Paris", "sunny in Rome"]
    assert done["kinds"] == [*["tool_call_item"] * 2, *["tool_call_output_item"] * 2, "message_output_item"]
    assert done["requests"] == 2
    assert done["tokens"] > 0
    assert done["last"].startswith("resp_")


def test_the_runner_is_heeded_in_its_settings(sdk: dict[str, Any]) -> None:
    assert sdk["one_at_a_time"]["said"] == "It is sunny."
    assert sdk["one_at_a_time"]["kinds"] == ["tool_call_item", "tool_call_output_item", "message_output_item"]


def test_agents_hand_over(sdk: dict[str, Any]) -> None:
    assert sdk["handoff"] == {
        "said": "Bonjour.",
        "agent": "french",
        "kinds": ["handoff_call_item", "handoff_output_item", "message_output_item"],
    }


def test_the_runner_streams(sdk: dict[str, Any]) -> None:
    assert sdk["streaming"]["typed"] == sdk["streaming"]["said"] == "It is sunny."
    assert sdk["streaming"]["named"] == ["tool_called"] * 2 + ["tool_output"] * 2 + ["message_output_created"]


def test_a_session_of_the_sdk_is_a_conversation(sdk: dict[str, Any]) -> None:
    done = sdk["session"]
    assert done["said"] == ["My name is Ana.", "It is sunny.", "Still here."]
    calls = ["function_call"] * 2 + ["function_call_output"] * 2
    assert done["kinds"] == ["message", "reasoning", "message", "message", *calls, "message"]
    assert done["latest"] == ["function_call_output", "message"]
    assert (done["popped"], done["left"]) == ("It is sunny.", [9, 8])


def test_the_server_calls_mcp_for_the_sdk(sdk: dict[str, Any]) -> None:
    assert sdk["hosted_mcp"] == {
        "said": "Minus one hundred.",
        "output": ["mcp_list_tools", "mcp_call", "message"],
    }


def test_the_server_may_remember_for_the_sdk(sdk: dict[str, Any]) -> None:
    assert sdk["server_state"]["said"] == ["It is sunny."] * 2
    calls = ["function_call"] * 2 + ["function_call_output"] * 2
    assert sdk["server_state"]["items"] == ["message", *calls, "message"]


# -------------------------------------------------------------------- llama-stack-client 0.2: responses


@pytest.fixture
def older(server: ServerProcess) -> Iterator[LlamaStackClient]:
    with LlamaStackClient(base_url=server.base, max_retries=0) as client:
        yield client


def words_of(response: Any) -> str:
    """What a response says; this client does not put it together."""
    return "".join(part.text for item in response.output if item.type == "message" for part in item.content)


def test_the_older_client_has_responses(older: LlamaStackClient) -> None:
    made = older.responses.create(model=MODEL, input=script("say Hello there."), temperature=0.5)
    assert (made.status, words_of(made)) == ("completed", "Hello there.")
    assert words_of(older.responses.retrieve(made.id)) == "Hello there."
    second = older.responses.create(model=MODEL, input=script("say And again."), previous_response_id=made.id)
    items = older.responses.input_items.list(second.id, order="asc").data
    assert [getattr(item, "role", "") for item in items] == ["user", "assistant", "user"]
    listed = older.responses.list(limit=2, model=MODEL, order="desc").data
    assert [one.id for one in listed] == [second.id, made.id]
    assert [item.role for item in listed[1].input if item.type == "message"] == ["user"]


def test_the_older_client_streams_responses(older: LlamaStackClient) -> None:
    events = list(older.responses.create(model=MODEL, input=script("say Hello there."), stream=True))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Hello there."
    last = events[-1]
    assert last.type == "response.completed"
    assert words_of(last.response) == "Hello there."


def test_the_older_client_calls_functions(older: LlamaStackClient) -> None:
    tools: Any = [function("look", "at")]
    first = older.responses.create(
        model=MODEL, input=script('call look {"at": "it"}', "then", "say Seen."), tools=tools
    )
    [call] = [item for item in first.output if item.type == "function_call"]
    output: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "a cat"}]
    second = older.responses.create(model=MODEL, input=output, tools=tools, previous_response_id=first.id)
    assert words_of(second) == "Seen."
