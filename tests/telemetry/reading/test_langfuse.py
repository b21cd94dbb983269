"""Langfuse's traces and observations as spans."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import Usage
from agents.telemetry.reading import files, langfuse
from agents.telemetry.reading.detect_format import format_of
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.outlines import WEATHER, outline, outlines

QUESTION = {"role": "user", "content": "How warm is it in Rome?"}
FUNCTION = {"name": "weather", "arguments": '{"city": "Rome"}'}
ASKED = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": FUNCTION}]}
TOLD = {"role": "tool", "tool_call_id": "c1", "content": "18 degrees"}
ANSWER = {"role": "assistant", "content": "It is 18 degrees."}


def observation(number: int, type_: str, name: str, /, parent: int | None = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": f"observation-{number}",
        "traceId": "trace-1",
        "type": type_,
        "name": name,
        "startTime": f"2026-11-20T09:54:0{number}.000Z",
        "endTime": f"2026-11-20T09:54:0{number}.900Z",
        "parentObservationId": None if parent is None else f"observation-{parent}",
        "level": "DEFAULT",
        "statusMessage": None,
        "metadata": {"resourceAttributes": {}},
        **more,
    }


def generation(number: int, asked: list[Any], output: Any, tokens: tuple[int, int], /, **more: Any) -> dict[str, Any]:
    usage = {"input": tokens[0], "output": tokens[1], "total": sum(tokens)}
    costs = {"input": 0.0001, "output": 0.0002, "total": 0.0003}
    more = {"model": "gpt-4o", "usageDetails": usage, "costDetails": costs, **more}
    return observation(number, "GENERATION", "chat", input=asked, output=output, **more)


TRACE: dict[str, Any] = {
    "id": "trace-1",
    "timestamp": "2026-11-20T09:54:01.000Z",
    "name": "weather desk",
    "input": "How warm is it in Rome?",
    "output": "It is 18 degrees.",
    "sessionId": "talk",
    "userId": "ada",
    "tags": ["paid"],
    "metadata": {"plan": "pro", "attributes": {"a": 1}},
    "htmlPath": "/project/p/traces/trace-1",
    "latency": 4.9,
    "observations": [
        observation(1, "AGENT", "weather desk", None, input="How warm is it in Rome?", output="It is 18 degrees."),
        generation(2, [QUESTION], ASKED, (40, 9)),
        observation(3, "TOOL", "weather", input={"city": "Rome"}, output="18 degrees"),
        generation(4, [QUESTION, ASKED, TOLD], ANSWER, (60, 7)),
    ],
    "scores": [],
}
FLAT = [{**found, "parentObservationId": None} for found in TRACE["observations"][1:]]


@pytest.mark.parametrize("shape", ["trace", "page", "list", "lines"])
def test_it_reads_a_trace(shape: str) -> None:
    page = {"data": [TRACE], "meta": {"page": 1}}
    data = {"trace": TRACE, "page": page, "list": [TRACE], "lines": TRACE}[shape]
    written = (json.dumps(data, indent=None if shape == "lines" else 1) + "\n").encode()
    assert format_of(written) == "langfuse"
    [turn] = build_turns(files.decode_file("langfuse", written).spans)
    assert outline(turn) == WEATHER
    assert (turn.session, turn.user, turn.tags, turn.agent) == ("talk", "ada", ("paid",), "weather desk")
    assert turn.metadata == {"plan": "pro"}
    first, _, last = turn.steps
    assert first.usage == Usage(input_tokens=40, output_tokens=9)
    assert (first.cost_nano, last.cost_nano) == (300_000, 300_000)


def test_observations_alone_are_the_same_turn() -> None:
    data = "\n".join(map(json.dumps, TRACE["observations"])).encode()
    assert format_of(data) == format_of(json.dumps({"data": TRACE["observations"], "meta": {}}).encode()) == "langfuse"
    decoded = files.decode_file("langfuse", data)
    assert outlines(decoded.spans) == [WEATHER]
    assert [span.id for span in decoded.spans] == [span.id for span in langfuse.from_json(TRACE).spans]


def test_a_trace_stands_above_observations_of_which_none_is_the_turn() -> None:
    trace, *inner = langfuse.from_json({**TRACE, "observations": FLAT}).spans
    assert (trace.id, trace.name, trace.end_ns - trace.start_ns) == ("t-trace-1", "weather desk", 4_900_000_000)
    assert {span.parent for span in inner} == {trace.id}
    assert outlines([trace, *inner]) == [WEATHER]
    [single, call] = langfuse.from_json({**TRACE, "observations": FLAT[:1]}).spans
    assert call.parent == single.id


def test_a_list_of_traces_has_their_questions_and_answers() -> None:
    listed = {**TRACE, "observations": ["observation-1", "observation-2"]}
    assert format_of(json.dumps({"data": [listed]}).encode()) == "langfuse"
    assert outlines(langfuse.from_json({"data": [listed], "meta": {}}).spans) == [[WEATHER[0], WEATHER[-1]]]


def test_it_reads_older_names_and_failures() -> None:
    older = generation(2, [QUESTION], None, (0, 0), usageDetails={}, costDetails=None, level="ERROR")
    older |= {"promptTokens": 5, "completionTokens": 2, "calculatedTotalCost": 0.5, "statusMessage": "too many"}
    [turn] = build_turns(langfuse.from_json(older).spans)
    [step] = turn.steps
    assert step.usage == Usage(input_tokens=5, output_tokens=2)
    assert step.cost_nano == 500_000_000
    assert (step.status, step.error and step.error.message) == ("failed", "too many")
    [event] = langfuse.from_json(observation(5, "EVENT", "clicked", endTime=None)).spans
    assert event.end_ns == event.start_ns


def test_it_rejects_what_has_no_ids_and_refuses_a_body_of_nothing_else() -> None:
    broken = copy.deepcopy(TRACE)
    broken["observations"][3]["id"] = 5
    decoded = langfuse.from_json(broken)
    assert (len(decoded.spans), decoded.rejected) == (3, 1)
    with pytest.raises(InvalidRequest, match="nothing in it has the id"):
        langfuse.from_json({**TRACE, "id": None})


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("x", None),
        ({}, "data[0]"),
        ({"data": 5}, "data"),
        ({**TRACE, "observations": 5}, "data[0].observations"),
        ({**TRACE, "observations": [5]}, "data[0].observations[0]"),
    ],
)
def test_it_refuses_what_is_no_trace(body: Any, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        langfuse.from_json(body)
    assert refused.value.param == param
