"""Clients that keep the history themselves: what they send again is known, and the log shows one
conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.openai_api import words_of
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

MODEL = "scripted/fast"
TOOLS: Any = [{"type": "function", "name": "lookup", "parameters": {"type": "object", "properties": {}}}]


@pytest.fixture
def client(server: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def place_of(server: ServerProcess, name: str) -> list[tuple[str, str]]:
    """(session, turn) of the logged turns with this metadata, oldest first."""
    rows = Caller(server.port).get(f"/v1/logs/turns?q=meta.case:{name}").json["data"]
    return [(row["session_id"], row["id"]) for row in reversed(rows)]


def test_an_answer_with_its_history_continues_the_turn(client: OpenAI, server: ServerProcess) -> None:
    asked: list[Any] = [user(script("say Let me look.", "call lookup {}", "then", "say Blue."))]
    first = client.responses.create(model=MODEL, input=asked, tools=TOOLS, metadata={"case": "loop"})
    call = first.output[-1]
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "kettle"}  # type: ignore[union-attr]  # a call
    history = [*asked, *(item.model_dump(exclude_none=True) for item in first.output), output]
    second = client.responses.create(model=MODEL, input=history, tools=TOOLS)

    assert second.output_text == "Blue."
    [(_, turn)] = place_of(server, "loop")
    steps = Caller(server.port).get("/v1/logs/turns?q=meta.case:loop").json["data"][0]["steps"]
    assert [step["type"] for step in steps] == ["inference", "tool_execution", "inference"]
    assert turn


def test_a_message_with_its_history_joins_the_session(client: OpenAI, server: ServerProcess) -> None:
    history: list[Any] = [user("One")]
    for text in ("Two", "Three"):
        answered = client.responses.create(model=MODEL, input=history, metadata={"case": "chat"})
        history += [*(item.model_dump(exclude_none=True) for item in answered.output), user(text)]
    last = client.responses.create(model=MODEL, input=history, metadata={"case": "chat"})

    places = place_of(server, "chat")
    assert len(places) == 3
    assert len({session for session, _ in places}) == 1
    told = [words_of(item) for item in client.responses.input_items.list(last.id, order="asc")]
    assert [text for text in told if text in ("One", "Two", "Three")] == ["One", "Two", "Three"]


def test_a_history_that_was_changed_begins_anew(client: OpenAI, server: ServerProcess) -> None:
    first = client.responses.create(model=MODEL, input=[user("One")], metadata={"case": "changed"})  # type: ignore[list-item]  # plain dicts will do
    items = [item.model_dump(exclude_none=True) for item in first.output]
    items[0]["content"][0]["text"] = "Something else."
    changed: list[Any] = [user("One"), *items, user("Two")]
    client.responses.create(model=MODEL, input=changed, metadata={"case": "changed"})

    assert len({session for session, _ in place_of(server, "changed")}) == 2
