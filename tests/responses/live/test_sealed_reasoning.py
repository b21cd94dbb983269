"""Reasoning that a client keeps: sealed where it asks for it, and understood when it is sent back."""

from __future__ import annotations

import base64
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.openai_api import MODEL, frames_of, said

pytestmark = pytest.mark.server

THOUGHT = script("think It is the blue one.", "say Blue.")
SEALED: Any = ["reasoning.encrypted_content"]


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


def reasoning(response: Any) -> dict[str, Any]:
    item: dict[str, Any]
    [item] = [item.to_dict() for item in response.output if item.type == "reasoning"]
    return item


def sent_back(client: OpenAI, item: dict[str, Any]) -> dict[str, Any]:
    """The reasoning as the server has it, after a client that keeps nothing readable has sent it."""
    items: Any = [said(THOUGHT), {**item, "id": "rs_mine", "content": []}, said("Blue.", "assistant"), said("Hello")]
    response = client.responses.create(model=MODEL, input=items)
    stored = [one.to_dict() for one in client.responses.input_items.list(response.id)]
    [found] = [one for one in stored if one["type"] == "reasoning"]
    return found


def test_it_is_sealed_only_where_that_is_asked_for(client: OpenAI) -> None:
    plain = client.responses.create(model=MODEL, input=THOUGHT)
    assert not reasoning(plain).get("encrypted_content")
    response = client.responses.create(model=MODEL, input=THOUGHT, include=SEALED)
    sealed = reasoning(response)["encrypted_content"]
    assert b"blue" not in base64.urlsafe_b64decode(sealed)
    assert reasoning(client.responses.retrieve(response.id, include=SEALED)) == reasoning(response)
    assert not reasoning(client.responses.retrieve(response.id)).get("encrypted_content")


@pytest.mark.parametrize("store", [True, False])
def test_a_stream_has_it_in_the_item_that_is_done(caller: Caller, store: bool) -> None:
    body = {"model": MODEL, "input": THOUGHT, "include": SEALED, "stream": True, "store": store}
    frames = frames_of(caller.post("/v1/responses", body).body)
    items = [frame.data["item"] for frame in frames if frame.type == "response.output_item.done"]
    [sealed] = [item["encrypted_content"] for item in items if item["type"] == "reasoning"]
    assert sealed
    response = frames[-1].data["response"]
    assert response["output"] == items
    if store:
        path = f"/v1/responses/{response['id']}?stream=true&include[]={SEALED[0]}"
        assert [frame.raw for frame in frames_of(caller.get(path).body)] == [frame.raw for frame in frames]


def test_it_is_understood_when_it_comes_back(client: OpenAI) -> None:
    kept = reasoning(client.responses.create(model=MODEL, input=THOUGHT, include=SEALED, store=False))
    assert sent_back(client, kept)["content"] == [{"type": "reasoning_text", "text": "It is the blue one."}]


@pytest.mark.parametrize("change", ["", "A", "\u00fc", "gAAAAABforeign=="])
def test_a_seal_that_is_none_says_nothing_and_hurts_nobody(client: OpenAI, change: str) -> None:
    kept = reasoning(client.responses.create(model=MODEL, input=THOUGHT, include=SEALED, store=False))
    sealed = kept["encrypted_content"]
    first = "B" if change == "A" == sealed[0] else change  # a seal may begin like that by chance
    forged = first + sealed[1:] if len(change) == 1 else change
    found = sent_back(client, {**kept, "encrypted_content": forged})
    assert not found.get("content")
    assert found.get("encrypted_content", "") == forged


def test_what_cannot_be_included_is_refused(client: OpenAI) -> None:
    wrong: Any = ["nothing"]
    with pytest.raises(openai.BadRequestError, match="include"):
        client.responses.create(model=MODEL, input="Hello", include=wrong)
    response = client.responses.create(model=MODEL, input="Hello")
    with pytest.raises(openai.BadRequestError, match="include"):
        client.responses.retrieve(response.id, include=wrong)
