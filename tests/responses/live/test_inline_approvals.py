"""Approvals of clients that keep the history themselves: the call to approve and the answer come with all that was
said before, and nothing names the response that waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.mcp_process import McpProcess
from tests.support.live.openai_api import MODEL, function, said
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

BOIL = 'call get_boiling_point {"liquid_name": "polyjuice"}'


@pytest.fixture
def client(server: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def ask(client: OpenAI, mcp: McpProcess, items: list[Any]) -> Any:
    lab: Any = {"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "always"}
    tools = [lab, function("look", "at")]
    return client.responses.create(model=MODEL, input=items, tools=tools)


def made(response: Any) -> list[Any]:
    return [item.to_dict() for item in response.output]


def words_to(response: Any, *, approve: bool = True) -> list[Any]:
    """An answer to each request for approval."""
    requests = [item.id for item in response.output if item.type == "mcp_approval_request"]
    return [{"type": "mcp_approval_response", "approval_request_id": one, "approve": approve} for one in requests]


def kinds(response: Any) -> list[str]:
    return [item.type for item in response.output if item.type != "mcp_list_tools"]


def test_approved_calls_run_round_after_round(client: OpenAI, mcp: McpProcess) -> None:
    items: list[Any] = [said("My cat is Ada."), said(script(BOIL, BOIL, "then", BOIL, "then", "say Cold."))]
    first = ask(client, mcp, items)
    assert kinds(first) == ["mcp_approval_request"] * 2
    items += made(first) + words_to(first)
    second = ask(client, mcp, items)
    assert kinds(second) == ["mcp_call", "mcp_call", "mcp_approval_request"]
    items += made(second) + words_to(second)
    third = ask(client, mcp, items)
    assert kinds(third) == ["mcp_call", "message"]
    assert third.output_text == "Cold."
    assert [item.output for item in [*second.output, *third.output] if item.type == "mcp_call"] == ["-100"] * 3


def test_a_request_may_be_named_by_its_id_alone(client: OpenAI, mcp: McpProcess) -> None:
    question = said(script(BOIL, "then", "say Cold."))
    first = ask(client, mcp, [question])
    [word] = words_to(first)
    reference = {"type": "item_reference", "id": word["approval_request_id"]}
    assert ask(client, mcp, [question, reference, word]).output_text == "Cold."


def test_a_refused_call_does_not_run(client: OpenAI, mcp: McpProcess) -> None:
    question = said(script(BOIL, "then", "say Then not."))
    first = ask(client, mcp, [question])
    second = ask(client, mcp, [question, *made(first), *words_to(first, approve=False)])
    assert kinds(second) == ["message"]
    assert second.output_text == "Then not."


def test_a_function_of_the_client_is_answered_beside_it(client: OpenAI, mcp: McpProcess) -> None:
    question = said(script('call look {"at": "it"}', BOIL, "then", "say Cold."))
    first = ask(client, mcp, [question])
    [call] = [item.call_id for item in first.output if item.type == "function_call"]
    output = {"type": "function_call_output", "call_id": call, "output": "a cauldron"}
    second = ask(client, mcp, [question, *made(first), output, *words_to(first)])
    assert second.output_text == "Cold."


def test_it_is_one_turn_of_the_log_and_an_answer_counts_once_in_it(
    client: OpenAI, mcp: McpProcess, caller: Caller
) -> None:
    question = said(script(BOIL, "then", "say Cold."))
    first = ask(client, mcp, [question])
    items = [question, *made(first), *words_to(first)]
    second = ask(client, mcp, items)
    turns = {row["id"]: row["turn_id"] for row in caller.get("/v1/logs/responses?limit=100").json["data"]}
    assert turns[first.id] == turns[second.id]
    again = ask(client, mcp, items)  # nothing waits any more: the call is made in a turn of its own
    assert kinds(again) == ["mcp_call", "message"]


def test_words_that_were_changed_are_another_conversation(client: OpenAI, mcp: McpProcess, caller: Caller) -> None:
    first = ask(client, mcp, [said(script(BOIL, "then", "say Cold."))])
    changed = said(script(BOIL, "then", "say Something else."))
    second = ask(client, mcp, [changed, *made(first), *words_to(first)])
    assert kinds(second) == ["mcp_call", "message"]
    turns = {row["id"]: row["turn_id"] for row in caller.get("/v1/logs/responses?limit=100").json["data"]}
    assert turns[first.id] != turns[second.id]
