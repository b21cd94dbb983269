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
