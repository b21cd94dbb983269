"""Tools that came as items stay offered in what follows, for as long as the items are part of it."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.support.live.caller import Caller, script
from tests.support.live.openai_api import MODEL, answered, function, said, turns
from tests.support.live.process import ServerProcess
from tests.support.live.response_socket import opened

pytestmark = pytest.mark.server

LOOK = function("look", "query")
WEATHER = function("weather", "city")
SEARCH = {"type": "tool_search", "execution": "client"}
CLOCK: dict[str, Any] = {
    "type": "namespace",
    "name": "clock",
    "description": "Time",
    "tools": [function("sleep", "seconds")],
}


def bringing(*tools: Any) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def ask(caller: Caller, items: Any, **more: Any) -> dict[str, Any]:
    response: dict[str, Any] = answered(caller.post("/v1/responses", {"model": MODEL, "input": items, **more})).json
    return response


def offered(caller: Caller, **more: Any) -> str:
    """The tool that a model calls when it must call one, and is asked nothing that fits any: the first."""
    response = ask(caller, "x", tool_choice="required", **more)
    return str(response["output"][0]["name"])


def after(response: dict[str, Any]) -> dict[str, Any]:
    return {"previous_response_id": response["id"]}


def forced(caller: Caller, name: str, **more: Any) -> int:
    """What a request that forces a function is answered: 400 unless it is offered."""
    choice = {"type": "function", "name": name}
    return caller.post("/v1/responses", {"model": MODEL, "input": "x", "tool_choice": choice, **more}).status


def test_they_are_offered_in_later_responses_of_a_chain(caller: Caller) -> None:
    first = ask(caller, [bringing(LOOK), said("Hello")])
    second = ask(caller, "And?", **after(first))
    assert offered(caller, **after(second)) == "look"
    assert forced(caller, "look", **after(first)) == 200


def test_another_branch_does_not_have_them(caller: Caller) -> None:
    first = ask(caller, "Hello")
    ask(caller, [bringing(LOOK), said("With it")], **after(first))
    other = ask(caller, "Without", **after(first))
    assert forced(caller, "look", **after(other)) == 400


@pytest.mark.parametrize("late", [False, True])
def test_a_conversation_keeps_them(caller: Caller, late: bool) -> None:
    items = [] if late else [bringing(CLOCK)]
    conversation = caller.post("/v1/conversations", {"items": items}).json["id"]
    if late:
        ask(caller, [bringing(CLOCK), said("Hello")], conversation=conversation)
    response = ask(caller, script('call clock__sleep {"seconds": "1"}'), conversation=conversation)
    assert response["output"][0]["namespace"] == "clock"


def test_an_item_that_is_deleted_brings_nothing_any_more(caller: Caller) -> None:
    conversation = caller.post("/v1/conversations", {"items": [bringing(LOOK)]}).json["id"]
    assert forced(caller, "look", conversation=conversation) == 200
    conversation = caller.post("/v1/conversations", {"items": [bringing(LOOK)]}).json["id"]
    [item] = caller.get(f"/v1/conversations/{conversation}/items").json["data"]
    assert caller.delete(f"/v1/conversations/{conversation}/items/{item['id']}").status == 200
    assert forced(caller, "look", conversation=conversation) == 400


def test_what_a_search_found_stays_offered(caller: Caller) -> None:
    first = ask(caller, script('call tool_search {"query": "weather"}', "then", "say Found."), tools=[SEARCH])
    [call] = first["output"]
    found = {"type": "tool_search_output", "call_id": call["call_id"], "execution": "client", "tools": [WEATHER]}
    second = ask(caller, [found], tools=[SEARCH], **after(first))
    assert second["output"][0]["content"][0]["text"] == "Found."
    assert forced(caller, "weather", **after(second)) == 200
    assert forced(caller, "weather", **after(ask(caller, "And?", **after(second)))) == 200


def test_what_a_search_in_sent_items_found_stays_offered(caller: Caller) -> None:
    call = {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {}}
    found = {"type": "tool_search_output", "call_id": "c1", "execution": "client", "tools": [WEATHER]}
    first = ask(caller, [said("Hello"), call, found], tools=[SEARCH])
    assert forced(caller, "weather", **after(first)) == 200


def test_they_are_counted_with_the_input(caller: Caller) -> None:
    def tokens(*tools: Any) -> int:
        first = ask(caller, [bringing(*tools), said("Hello")] if tools else [said("Hello")])
        body = {"input": "x", **after(first)}
        return int(answered(caller.post("/v1/responses/input_tokens", body)).json["input_tokens"])

    assert tokens(LOOK) > tokens()


def test_of_two_with_one_name_the_later_is_offered(caller: Caller) -> None:
    custom = {"type": "custom", "name": "look"}
    first = ask(caller, [bringing(LOOK), said("Hello")])
    second = ask(caller, [bringing(custom), said("Hello")], **after(first))
    response = ask(caller, script('call look {"input": "x"}'), **after(second))
    assert response["output"][0]["type"] == "custom_tool_call"
    response = ask(caller, script('call look {"query": "x"}'), tools=[LOOK], **after(second))
    assert response["output"][0]["type"] == "function_call"


def test_one_that_cannot_be_offered_is_left_out_with_a_note(caller: Caller) -> None:
    """A client cannot take it back: a refusal would be the end of its conversation."""
    twice = {**CLOCK, "tools": [*CLOCK["tools"], *CLOCK["tools"]]}
    conversation = caller.post("/v1/conversations", {"items": [bringing(twice), bringing(LOOK)]}).json["id"]
    mark = f"mark{uuid.uuid4().hex}"
    ask(caller, script(f"say {mark}"), conversation=conversation)
    assert forced(caller, "look", conversation=conversation) == 200
    [turn] = turns(caller, mark)
    steps = caller.get(f"/v1/logs/steps?q=turn:{turn['id']}").json["data"]
    assert "tools left out" in [step["name"] for step in steps]


def test_a_socket_offers_them_too(server: ServerProcess) -> None:
    """Codex sends its tools once, with the request that warms up."""
    with opened(server) as socket:
        warm = socket.response(input=[bringing(LOOK)], generate=False, store=False)
        more: Any = {"store": False, "tool_choice": "required"}
        response = socket.response(input="x", previous_response_id=warm["id"], **more)
        assert response["output"][0]["name"] == "look"
