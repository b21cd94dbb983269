"""What Claude Code says only in its log records: what a call cost, what it answered."""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import text_of
from agents.record.schemas.events import InferenceDetail
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures
from tests.telemetry.reading.sample_spans import START, span

SCOPE = "com.anthropic.claude_code.tracing"
TOKENS = {"input_tokens": 30, "output_tokens": 15, "cache_read_tokens": 200, "cache_creation_tokens": 100}


def record(name: str, at: float, **attributes: Any) -> SpanEvent:
    return SpanEvent(name, START + round(at * 1e9), {"event.name": name, **attributes}, f"claude_code.{name}")


def request(at: float, cost: float = 0.001, model: str = "opus", **tokens: int) -> SpanEvent:
    return record("api_request", at, model=model, cost_usd=cost, **{**TOKENS, **tokens})


def answer(at: float, response: str, model: str = "opus") -> SpanEvent:
    return record("assistant_response", at, response=response, model=model)


def claude_span(id_: str, kind: str, parent: str = "", **more: Any) -> Span:
    attributes = {"span.type": kind, **more.pop("attributes", {})}
    return span(id_, parent=parent, name=f"claude_code.{kind}", scope=SCOPE, attributes=attributes, **more)


def call(id_: str, at: float, stop: str = "end_turn", model: str = "opus", parent: str = "top", **tokens: int) -> Span:
    attributes = {"model": model, "stop_reason": stop, "success": True, **TOKENS, **tokens}
    return claude_span(id_, "llm_request", parent, at=at, attributes=attributes)


def tool(id_: str, at: float, parent: str = "top") -> Span:
    attributes = {"tool_name": "Read", "tool_use_id": f"use_{id_}", "file_path": f"/{id_}"}
    return claude_span(id_, "tool", parent, at=at, attributes=attributes)


def the_turn(*spans: Span, events: list[SpanEvent]) -> ExternalTurn:
    top = claude_span("top", "interaction", took=30)
    records = Span("t1", "top", events=events, is_log=True, scope="com.anthropic.claude_code.events")
    [turn] = build_turns([*spans, records, top])
    assert [turn] == build_turns([records, top, *spans[::-1], records])
    return turn


def costs(turn: ExternalTurn) -> dict[str, int | None]:
    return {step.id: step.cost_nano for step in turn.steps if step.type == "inference"}


def text(step: ExternalStep) -> str:
    assert isinstance(step.detail, InferenceDetail)
    return text_of(step.detail.model_response.content)


def test_a_call_costs_what_its_record_says() -> None:
    turn = the_turn(call("a", 1), call("b", 3), events=[request(2, 0.5), request(4, 0.25)])
    assert costs(turn) == {"a": 500_000_000, "b": 250_000_000}


def test_a_record_of_other_tokens_is_of_another_call() -> None:
    events = [request(2, 0.5, output_tokens=99), request(2, 0.1, model="haiku"), request(4, 0.25)]
    assert costs(the_turn(call("a", 1), call("b", 3), events=events)) == {"a": None, "b": 250_000_000}


def test_calls_at_once_each_have_their_own_cost() -> None:
    """A sub-agent's calls lie below its tool, their records name the interaction."""
    spans = [call("a", 1), tool("agent", 2), call("b", 2.1, parent="agent"), call("c", 2.2, parent="agent")]
    events = [request(2, 0.1), request(3.1, 0.2), request(3.2, 0.3)]
    assert costs(the_turn(*spans, events=events)) == {"a": 100_000_000, "b": 200_000_000, "c": 300_000_000}


def test_an_answer_is_the_words_of_the_call_before_it() -> None:
    events = [request(2), answer(2.1, "First."), request(4), answer(4.1, "Second.")]
    turn = the_turn(call("a", 1), call("b", 3), events=events)
    assert [text(step) for step in turn.steps] == ["First.", "Second."]
    assert [step.hidden for step in turn.steps] == [False, False]
    assert turn.warnings == ()
    assert text_of(turn.output.content if turn.output else "") == "Second."


def test_words_that_its_user_did_not_switch_on_stay_hidden() -> None:
    turn = the_turn(call("a", 1), events=[request(2), answer(2.1, "<REDACTED>")])
    assert [step.hidden for step in turn.steps] == [True]


def test_a_call_that_stopped_for_tools_asked_for_those_that_ran() -> None:
    spans = [call("a", 1, "tool_use"), tool("x", 1.5), tool("y", 2), call("b", 4), tool("z", 9)]
    first, second = (step for step in the_turn(*spans, events=[]).steps if step.type == "inference")
    assert isinstance(first.detail, InferenceDetail)
    assert [(one.call_id, one.arguments) for one in first.detail.model_response.tool_calls] == [
        ("use_x", {"file_path": "/x"}),
        ("use_y", {"file_path": "/y"}),
    ]
    assert isinstance(second.detail, InferenceDetail)
    assert second.detail.model_response.tool_calls == []
    assert (first.hidden, second.hidden) == (False, True)


def test_a_tool_was_given_what_its_record_says() -> None:
    bare = claude_span("x", "tool", "top", attributes={"tool_name": "Read", "tool_use_id": "use_x"})
    result = record("tool_result", 2, tool_use_id="use_x", tool_input='{"file_path": "/etc/hosts"}')
    [step] = [step for step in the_turn(bare, events=[result]).steps if step.type == "tool_execution"]
    assert step.detail.tool_calls[0].arguments == {"file_path": "/etc/hosts"}  # type: ignore[union-attr]  # a tool's


def test_a_real_session_tells_what_it_cost() -> None:
    first, second = build_turns(captures.spans("claude_code__two-turns"))
    assert [costs(turn) for turn in (first, second)] == [
        {"20fad87dd816899b": 750_000, "db4e76ab42f8a75e": 705_000},
        {"6859d826b7e1ccaa": 705_000},
    ]


def test_a_tool_failed_where_its_run_did() -> None:
    run = claude_span("run", "tool.execution", "x", at=2, attributes={"success": False, "error": "No such file"})
    [step] = [step for step in the_turn(tool("x", 2), run, events=[]).steps if step.type == "tool_execution"]
    assert (step.status, step.error.message if step.error else "") == ("failed", "No such file")


def test_a_tool_failed_where_its_record_says_so() -> None:
    failed = record("tool_result", 3, tool_use_id="use_x", success="false", error="No such file")
    [step] = [step for step in the_turn(tool("x", 2), events=[failed]).steps if step.type == "tool_execution"]
    assert (step.status, step.error.message if step.error else "") == ("failed", "No such file")
