"""What was recorded of every kind of tool is what is sent today, to the byte, and what OpenAI's types read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from agents.base import ids
from tests.loop.play import play
from tests.responses.wire.recorded import FOLDER, RUNS, SECRET, entries_json, entries_of, frames

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@pytest.fixture(autouse=True)
def _ids() -> Iterator[None]:
    """Public ids are made with a secret: here the samples'."""
    ids.configure(SECRET)
    yield
    ids.configure(settings.SECRET_KEY)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_the_recorded_events(name: str) -> None:
    assert entries_json(play(RUNS[name]())) == (FOLDER / f"{name}.events.jsonl").read_text()


@pytest.mark.parametrize("name", RUNS)
def test_recorded_events_give_the_recorded_frames(name: str) -> None:
    entries = entries_of((FOLDER / f"{name}.events.jsonl").read_text())
    assert entries_json(entries) == (FOLDER / f"{name}.events.jsonl").read_text()
    assert frames(name, entries) == (FOLDER / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", RUNS)
def test_recorded_frames_are_what_openai_describes(name: str) -> None:
    blocks = (FOLDER / f"{name}.sse").read_text().strip().split("\n\n")
    for block in blocks:
        kind, data = block.split("\n")
        event = EVENT.validate_json(data.removeprefix("data: "))
        assert kind == f"event: {event.type}"
    last = json.loads(blocks[-1].split("\n")[1].removeprefix("data: "))
    assert last["sequence_number"] == len(blocks) - 1


@pytest.mark.parametrize("name", RUNS)
def test_items_and_their_parts_name_their_response(name: str) -> None:
    """Clients of Llama Stack take an event without it for nothing they know."""
    entries = entries_of((FOLDER / f"{name}.events.jsonl").read_text())
    found = [json.loads(frame.split(b"data: ")[1]) for frame in frames(name, entries).split(b"\n\n")[:-1]]
    named = [one for one in found if one["type"].startswith(("response.output_item.", "response.content_part."))]
    assert named
    assert {one["response_id"] for one in named} == {found[0]["response"]["id"]}


def test_what_a_listing_lacks_is_left_out() -> None:
    """Null is allowed for it, but some clients refuse the whole answer then."""
    entries = entries_of((FOLDER / "mcp.events.jsonl").read_text())
    listing = [
        one["item"]
        for frame in frames("mcp", entries).split(b"\n\n")[:-1]
        if (one := json.loads(frame.split(b"data: ")[1])).get("item", {}).get("type") == "mcp_list_tools"
    ]
    assert [set(one) for one in listing] == [{"id", "type", "server_label", "tools"}] * 2
    assert [set(tool) for tool in listing[1]["tools"]] == [{"name", "description", "input_schema"}]
