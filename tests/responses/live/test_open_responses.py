"""The acceptance tests of Open Responses, in our words: over HTTP, as a stream and over a socket."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from websockets.sync.client import ClientConnection, connect

from tests.support.live.caller import Caller
from tests.support.live.openai_api import MODEL, frames_of, function, said
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

_REQUIRED = """
id object created_at completed_at status incomplete_details model previous_response_id instructions output error tools
tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs temperature
reasoning usage max_output_tokens max_tool_calls store background service_tier metadata safety_identifier
prompt_cache_key
"""
REQUIRED = set(re.findall(r"\w+", _REQUIRED))
"""What the standard wants of every response, be it null."""
LAST = frozenset({"response.completed", "response.failed", "response.incomplete"})
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
_event: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
Ask = Callable[[dict[str, Any]], dict[str, Any]]


def checked(response: dict[str, Any]) -> dict[str, Any]:
    """A response that has all that the standard wants of one."""
    assert set(response) >= REQUIRED, REQUIRED - set(response)
    Response.model_validate(response)
    return response


def last_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The response that a stream ends with; each of its events is one of the standard's."""
    for number, event in enumerate(events):
        _event.validate_python(event)
        assert event["sequence_number"] == number
    assert events[-1]["type"] in LAST
    return checked(events[-1]["response"])


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response to a request, or the error."""
        self._connection.send(json.dumps({"type": "response.create", "model": MODEL, **body}))
        events: list[dict[str, Any]] = []
        while True:
            events.append(json.loads(self._connection.recv(timeout=20)))
            if events[-1]["type"] == "error":
                return dict(events[-1]["error"])
            if events[-1]["type"] in LAST:
                return last_of(events)


@contextmanager
def opened(server: ServerProcess) -> Iterator[Socket]:
    with connect(server.base.replace("http", "ws", 1) + "/v1/responses") as connection:
        yield Socket(connection)


@pytest.fixture(params=["answer", "stream", "socket"])
def ask(request: pytest.FixtureRequest, server: ServerProcess, caller: Caller) -> Iterator[Ask]:
    """Asks for a response, over each of the roads."""
    if request.param == "socket":
        with opened(server) as socket:
            yield socket.ask
    elif request.param == "stream":
        yield lambda body: last_of(
            [
                frame.data
                for frame in frames_of(caller.post("/v1/responses", {"model": MODEL, **body, "stream": True}).body)
            ]
        )
    else:
        yield lambda body: checked(caller.post("/v1/responses", {"model": MODEL, **body}).json)


@pytest.fixture
def socket(server: ServerProcess) -> Iterator[Socket]:
    with opened(server) as made:
        yield made


# --------------------------------------------------------------------------- responses, on every road


def answered(response: dict[str, Any]) -> bool:
    return response["status"] == "completed" and bool(response["output"])


def test_a_question_is_answered(ask: Ask) -> None:
    assert answered(ask({"input": [said("Say hello in exactly 3 words.")]}))


def test_phases_of_assistants_are_taken_and_kept(ask: Ask, caller: Caller) -> None:
    phases = ["commentary", "final_answer"]
    earlier = [{"type": "message", "role": "assistant", "content": phase, "phase": phase} for phase in phases]
    response = ask({"input": [*earlier, said("Go on.")]})
    assert answered(response)
    items = caller.get(f"/v1/responses/{response['id']}/input_items?order=asc").json["data"]
    assert [item.get("phase") for item in items] == [*phases, None]


def test_instructions_may_be_a_message(ask: Ask) -> None:
    assert answered(ask({"input": [said("You are a pirate.", "system"), said("Say hello.")]}))


def test_a_function_is_called(ask: Ask) -> None:
    response = ask({"input": [said("What's the weather in Paris?")], "tools": [function("get_weather", "location")]})
    assert [item["type"] for item in response["output"]] == ["function_call"]


def test_an_image_is_taken(ask: Ask) -> None:
    parts = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PIXEL}]
    assert answered(ask({"input": [{"type": "message", "role": "user", "content": parts}]}))


def test_a_history_is_taken(ask: Ask) -> None:
    history = [said("My name is Alice."), said("Hello Alice!", "assistant"), said("What is my name?")]
    assert answered(ask({"input": history}))


# ----------------------------------------------------------------------------------------- the socket


def test_a_socket_takes_one_after_the_other(socket: Socket) -> None:
    for _ in range(2):
        assert answered(socket.ask({"input": [said("Hello")], "store": False}))


def test_a_socket_goes_on_from_what_is_not_stored(socket: Socket) -> None:
    first = socket.ask({"input": [said("Remember: blue.")], "store": False})
    more = {"input": [said("Which?")], "store": False, "previous_response_id": first["id"]}
    assert answered(socket.ask(more))


def test_another_socket_does_not_but_stays_open(server: ServerProcess, socket: Socket) -> None:
    first = socket.ask({"input": [said("Remember: blue.")], "store": False})
    with opened(server) as other:
        more = {"input": [said("Which?")], "store": False, "previous_response_id": first["id"]}
        assert other.ask(more)["code"] == "previous_response_not_found"
        assert answered(other.ask({"input": [said("Hello")], "store": False}))


def test_what_never_was_is_not_found(socket: Socket) -> None:
    more = {"input": [said("Which?")], "store": False, "previous_response_id": "resp_never_was"}
    assert socket.ask(more)["code"] == "previous_response_not_found"


def test_a_failed_continuation_forgets_what_it_went_on_from(socket: Socket) -> None:
    first = socket.ask({"input": [said("Hello")], "store": False})
    orphan = {"type": "function_call_output", "call_id": "call_never_made", "output": "x"}
    more = {"store": False, "previous_response_id": first["id"]}
    assert socket.ask({**more, "input": [orphan]})["code"]
    assert socket.ask({**more, "input": [said("And?")]})["code"] == "previous_response_not_found"


# --------------------------------------------------------------------------------------- compaction


def compacted(caller: Caller, **more: Any) -> dict[str, Any]:
    parts = [{"type": "input_text", "text": "My cat is Ada."}]
    items = [{"type": "message", "role": "user", "content": parts}, said("I see.", "assistant"), said("And Bob?")]
    answer = caller.post("/v1/responses/compact", {"model": MODEL, "input": items, **more})
    assert answer.status == 200, answer.body
    window: dict[str, Any] = answer.json
    assert set(window) == {"id", "object", "created_at", "output", "usage"}
    assert window["object"] == "response.compaction"
    assert [item["type"] for item in window["output"]].count("compaction") == 1
    return window


def test_a_window_is_compacted(caller: Caller) -> None:
    compacted(caller, prompt_cache_key="k")


def test_a_new_chain_begins_from_a_compacted_window(caller: Caller, ask: Ask) -> None:
    window = compacted(caller)["output"]
    assert answered(ask({"input": [*window, said("Go on.")], "tools": [], "store": False}))


def test_compaction_needs_a_model(caller: Caller) -> None:
    assert caller.post("/v1/responses/compact", {"input": [said("Hello")]}).status == 400
