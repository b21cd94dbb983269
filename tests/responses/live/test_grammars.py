"""Endpoints that hold a model to the grammar of a custom tool: where the tool has to be called, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.live.caller import Caller
from tests.support.live.openai_api import answered, frames_of, function
from tests.support.live.process import running
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

REGEX = {"type": "grammar", "syntax": "regex", "definition": "[0-9]+,[0-9]+"}
LARK = {"type": "grammar", "syntax": "lark", "definition": 'start: "x"'}
FORCED = {"tool_choice": {"type": "custom", "name": "apply"}}


@pytest.fixture(scope="module")
def guiding(tmp_path_factory: pytest.TempPathFactory, data: Path, lab: ModelLab) -> Iterator[Caller]:
    endpoints = {
        "now": {"base_url": lab.url, "grammars": "structured_outputs"},
        "then": {"base_url": lab.url, "grammars": "guided"},
        "never": {"base_url": lab.url},
    }
    environment = {"DEFAULT_ENDPOINT": "scripted", "MODEL_ENDPOINTS": json.dumps(endpoints)}
    with running(tmp_path_factory.mktemp("guiding"), environment, data=data) as server:
        yield Caller(server.port)


def custom(form: dict[str, str]) -> dict[str, Any]:
    return {"type": "custom", "name": "apply", "format": form}


def telling(*texts: str) -> str:
    """What makes the model say these parts."""
    deltas = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in texts]
    return json.dumps([*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}])


def asked(lab: ModelLab, said: str) -> dict[str, Any]:
    [sent] = [body for _, body in lab.seen if body.get("messages") and body["messages"][-1]["content"] == said]
    return sent


@pytest.mark.parametrize(
    ("endpoint", "form", "expected"),
    [
        ("now", REGEX, {"structured_outputs": {"regex": REGEX["definition"]}}),
        ("now", LARK, {"structured_outputs": {"grammar": LARK["definition"]}}),
        ("then", REGEX, {"guided_regex": REGEX["definition"]}),
        ("then", LARK, {"guided_grammar": LARK["definition"]}),
    ],
)
def test_the_text_of_the_answer_is_the_input_of_the_call(
    guiding: Caller, lab: ModelLab, endpoint: str, form: dict[str, str], expected: dict[str, Any]
) -> None:
    said = telling('12"', "3\n", endpoint, str(form["syntax"]))
    body = {"model": f"{endpoint}/told", "input": said, "tools": [custom(form), function("look")], **FORCED}
    response = answered(guiding.post("/v1/responses", body)).json

    [call] = response["output"]
    assert (call["type"], call["name"]) == ("custom_tool_call", "apply")
    assert call["input"] == f'12"3\n{endpoint}{form["syntax"]}'
    assert response["status"] == "completed"
    sent = asked(lab, said)
    assert {name: sent.get(name) for name in expected} == expected
    assert not {"tools", "tool_choice", "response_format", "parallel_tool_calls"} & sent.keys()


def test_it_is_streamed_as_a_call_is(guiding: Caller) -> None:
    body = {"model": "now/told", "input": telling("1", '"2'), "tools": [custom(REGEX)], **FORCED}
    frames = frames_of(answered(guiding.post("/v1/responses", {**body, "stream": True})).body)
    [done] = [frame.data for frame in frames if frame.type == "response.custom_tool_call_input.done"]
    assert done["input"] == '1"2'
    assert not [frame for frame in frames if frame.type.startswith("response.output_text")]


@pytest.mark.parametrize(
    ("endpoint", "more"),
    [("never", FORCED), ("now", {}), ("now", {"tool_choice": "required"})],
    ids=["an endpoint that cannot", "a tool that may be called", "any tool must be called"],
)
def test_else_the_model_is_only_told(guiding: Caller, lab: ModelLab, endpoint: str, more: dict[str, Any]) -> None:
    said = telling("Hm.", endpoint, *more)
    body = {"model": f"{endpoint}/told", "input": said, "tools": [custom(REGEX)], **more}
    answered(guiding.post("/v1/responses", body))
    sent = asked(lab, said)
    assert not {"structured_outputs", "guided_regex"} & sent.keys()
    assert REGEX["definition"] in json.dumps(sent["tools"])
