"""ATIF trajectories as turns."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import Usage
from agents.record.schemas.events import InferenceDetail
from agents.telemetry.reading import atif, files
from agents.telemetry.reading.detect_format import format_of
from agents.telemetry.reading.openai_chat import FIRST_NS
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.outlines import WEATHER, outline, outlines


def step(number: int, source: str, message: Any, **more: Any) -> dict[str, Any]:
    at = f"2026-11-20T09:54:{number:02d}Z"
    return {"step_id": number, "timestamp": at, "source": source, "message": message, **more}


CALL = {"tool_call_id": "c1", "function_name": "weather", "arguments": {"city": "Rome"}}
TRAJECTORY: dict[str, Any] = {
    "schema_version": "ATIF-v1.4",
    "session_id": "talk",
    "agent": {"name": "desk", "version": "1.2", "model_name": "gpt-4o", "extra": {}},
    "steps": [
        step(1, "system", "You know the weather."),
        step(2, "user", "How warm is it in Rome?"),
        step(
            *(3, "agent", ""),
            reasoning_content="I have to look.",
            tool_calls=[CALL],
            observation={"results": [{"source_call_id": "c1", "content": "18 degrees"}]},
            metrics={"prompt_tokens": 40, "completion_tokens": 9, "cached_tokens": 8, "cost_usd": 0.0003},
        ),
        step(4, "agent", "It is 18 degrees.", metrics={"prompt_tokens": 60, "completion_tokens": 7}),
    ],
    "notes": "a test",
    "final_metrics": {"total_prompt_tokens": 100, "total_cost_usd": 0.0003},
}


def with_steps(*steps: dict[str, Any]) -> dict[str, Any]:
    return {**TRAJECTORY, "steps": list(steps)}


@pytest.mark.parametrize("value", [TRAJECTORY, [TRAJECTORY]])
def test_it_reads_a_trajectory(value: Any) -> None:
    data = json.dumps(value, indent=1).encode()
    assert format_of(data) == format_of(json.dumps(value).encode()) == "atif"
    [turn] = build_turns(files.decode_file("atif", data).spans)
    assert outline(turn) == WEATHER
    assert (turn.id, turn.session, turn.agent, turn.status) == ("talk:2", "talk", "desk", "completed")
    assert turn.instructions == "You know the weather."
    assert turn.metadata == {"release": "1.2", "notes": "a test"}
    first, tool, last = turn.steps
    assert first.usage == Usage(input_tokens=40, output_tokens=9, cached_tokens=8)
    assert first.cost_nano == 300_000
    assert isinstance(first.detail, InferenceDetail)
    assert first.detail.reasoning == "I have to look."
    assert [(found.ended_us or 0) - (found.started_us or 0) for found in (first, tool, last)] == [999_999, 0, 999_998]


def test_each_question_after_an_answer_begins_a_turn() -> None:
    steps = [*TRAJECTORY["steps"], step(30, "user", "And"), step(31, "user", "in Oslo?"), step(32, "agent", "Cold.")]
    spans = atif.from_json(with_steps(*steps)).spans
    assert outlines(spans) == [WEATHER, ["And in Oslo?", ("gpt-4o", "Cold.", []), "Cold."]]
    first, second = build_turns(spans)
    assert (first.id, second.id) == ("talk:2", "talk:30")
    assert (first.ended_us or 0) < second.started_us - 10**7


def test_long_names_of_sessions_that_begin_alike_are_two() -> None:
    names = ["x" * 100 + end for end in "ab"]
    first, second = build_turns(atif.from_json([{**TRAJECTORY, "session_id": name} for name in names]).spans)
    assert {first.session, second.session} == set(names)
    assert first.id != second.id


def test_steps_without_a_time_keep_their_order() -> None:
    timeless = [{name: value for name, value in found.items() if name != "timestamp"} for found in TRAJECTORY["steps"]]
    spans = atif.from_json(with_steps(*timeless)).spans
    assert outlines(spans) == [WEATHER]
    assert build_turns(spans)[0].started_us == FIRST_NS // 1000 + 1
    late = atif.from_json(with_steps(*timeless[:3], TRAJECTORY["steps"][3])).spans
    assert outlines(late) == [WEATHER]


def test_an_agent_may_begin_and_a_result_may_name_no_call() -> None:
    agent = copy.deepcopy(TRAJECTORY["steps"][2])
    del agent["observation"]["results"][0]["source_call_id"]
    [found] = outlines(atif.from_json(with_steps(agent, TRAJECTORY["steps"][3])).spans)
    assert found[1:] == WEATHER[1:]
    system = step(5, "system", "Go on.", observation={"results": [{"content": "restarted"}]})
    assert len(atif.from_json(with_steps(agent, system, TRAJECTORY["steps"][3])).spans) == 4


def test_it_counts_steps_that_are_none_and_those_that_were_copied() -> None:
    steps = [*TRAJECTORY["steps"], 5, step(9, "wizard", "x"), step(10, "user", "old", is_copied_context=True)]
    decoded = atif.from_json({**TRAJECTORY, "steps": steps})
    assert (outlines(decoded.spans), decoded.rejected, decoded.ignored) == ([WEATHER], 2, 1)
    assert decoded.problem == "2 steps were rejected: its source is none of system, user and agent."


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ("x", None),
        ({}, None),
        ([5], "[0]"),
        ({**TRAJECTORY, "steps": 5}, "steps"),
        ([{**TRAJECTORY, "session_id": ""}], "[0].session_id"),
    ],
)
def test_it_refuses_what_is_no_trajectory(body: Any, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        atif.from_json(body)
    assert refused.value.param == param
