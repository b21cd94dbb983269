"""Records of whole turns, read back from spans: whatever stands there, nothing breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import exported_turns
from agents.telemetry.reading.exported_turns import STEP_ATTRIBUTE, TURN_ATTRIBUTE
from agents.telemetry.reading.import_overrides import with_overrides
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import reports

GOOD = {
    "version": 1,
    "id": "a",
    "session": {"id": "s", "name": "case 7"},
    "agent": {"name": "support"},
    "status": "awaiting_input",
    "started_at": "2026-01-01T00:00:00Z",
    "input": [{"role": "user", "content": "hello"}],
}
STEPS = {"id": "1", "type": "tool_execution", "name": "t", "status": "awaiting_input", "started_at": 1}
HOSTILE: list[Any] = [
    *(None, 3, True, [], {}, "", "{", "null", "[]", '{"version": 1}', "[" * 5000, '{"version": 1, "id": "\\ud800"}'),
    json.dumps({**GOOD, "started_at": "9999-99-99"}),
    json.dumps({**GOOD, "started_at": 2**70}),
    json.dumps({**GOOD, "steps": [{**STEPS, "detail": {"tool_calls": 1}}]}),
    json.dumps({**GOOD, "status": "flying"}),
]


def test_a_record_is_the_turn() -> None:
    span = Span(
        "t", "1", attributes={TURN_ATTRIBUTE: json.dumps(GOOD), STEP_ATTRIBUTE: json.dumps(STEPS)}, format="turns"
    )
    [turn] = build_turns([span])
    assert (turn.id, turn.session, turn.session_name, turn.agent, turn.status) == (
        "t",
        "s",
        "case 7",
        "support",
        "awaiting_input",
    )
    assert [(step.name, step.status) for step in turn.steps] == [("t", "awaiting_input")]


@pytest.mark.parametrize("value", HOSTILE)
def test_what_is_no_record_leaves_the_span_to_its_other_words(value: Any) -> None:
    spans = traces_from_json(reports.request(*reports.turn(1))).spans
    for span in spans:
        span.attributes |= {TURN_ATTRIBUTE: value, STEP_ATTRIBUTE: value}
    [turn] = build_turns(spans)
    assert (turn.agent, turn.session, len(turn.steps)) == ("forecaster", "talk-1", 3)
    with pytest.raises(InvalidRequest):
        exported_turns.from_json({"record": value})


@pytest.mark.parametrize("value", HOSTILE)
def test_one_step_that_cannot_be_read_hides_no_other(value: Any) -> None:
    spans = [
        Span("t", "1", attributes={TURN_ATTRIBUTE: json.dumps(GOOD)}),
        Span("t", "2", attributes={STEP_ATTRIBUTE: value}),
        Span("t", "3", attributes={STEP_ATTRIBUTE: json.dumps(STEPS)}),
    ]
    [turn] = build_turns(spans)
    assert [step.id for step in turn.steps] == ["1"]


def test_the_turn_that_is_over_goes_before_the_one_that_ran() -> None:
    ended = {**GOOD, "status": "completed", "completed_at": "2026-01-01T00:00:01Z"}
    longer = {**GOOD, "metadata": {"much": "x" * 500}}
    spans = [exported_turns.from_json({"record": record}).spans[0] for record in (ended, longer)]
    for order in (spans, spans[::-1]):
        [turn] = build_turns(order)
        assert turn.status == "completed"


def test_given_names_go_before_those_in_the_file() -> None:
    spans = traces_from_json(reports.request(*reports.turn(1))).spans
    [turn] = build_turns(with_overrides(spans, agent="support", session="case 7"))
    assert (turn.agent, turn.agents, turn.session) == ("support", ("support",), "case 7")
    assert {step.agent for step in turn.steps} == {"support"}
    assert with_overrides(spans) == spans
