"""Reasoning as a summary: what a model thought, for clients that ask for a summary and read nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, script
from tests.support.live.openai_api import MODEL, frames_of

pytestmark = pytest.mark.server

THOUGHT = script("think It is the blue one.", "say Blue.")


def reasoning(response: Any) -> Any:
    [item] = [item for item in response.output if item.type == "reasoning"]
    return item


@pytest.mark.parametrize("asked", [{"summary": "auto"}, {"summary": "detailed"}, {"generate_summary": "concise"}])
def test_it_is_the_reasoning_where_a_summary_is_asked_for(openai_client: OpenAI, asked: Any) -> None:
    response = openai_client.responses.create(model=MODEL, input=THOUGHT, reasoning=asked)
    item = reasoning(response)
    assert [(part.type, part.text) for part in item.summary] == [("summary_text", "It is the blue one.")]
    assert item.content[0].text == "It is the blue one."
    assert reasoning(openai_client.responses.retrieve(response.id)) == item
    assert response.reasoning
    assert response.reasoning.summary == next(iter(asked.values()))


def test_there_is_none_unasked(openai_client: OpenAI) -> None:
    response = openai_client.responses.create(model=MODEL, input=THOUGHT, reasoning={"effort": "low"})
    assert reasoning(response).summary == []


def test_a_stream_types_it(caller: Caller) -> None:
    body = {"model": MODEL, "input": THOUGHT, "reasoning": {"summary": "auto"}, "stream": True}
    frames = frames_of(caller.post("/v1/responses", body).body)
    summary = [frame for frame in frames if "summary" in frame.type]
    kinds = [frame.type.removeprefix("response.reasoning_summary_") for frame in summary]
    assert kinds[0] == "part.added"
    assert kinds[-2:] == ["text.done", "part.done"]
    assert set(kinds[1:-2]) == {"text.delta"}
    assert "".join(frame.data["delta"] for frame in summary[1:-2]) == "It is the blue one."
    assert summary[-1].data["part"] == {"type": "summary_text", "text": "It is the blue one."}
    assert {(frame.data["output_index"], frame.data["summary_index"]) for frame in summary} == {(0, 0)}
    [done] = [frame.data["item"] for frame in frames if frame.type == "response.output_item.done"][:1]
    assert frames[-1].data["response"]["output"][0] == done
