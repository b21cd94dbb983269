"""What Codex says only in its log records and in spans that are looked through: words, tokens, wishes for tools."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from agents.record.schemas.content import text_of
from agents.record.schemas.events import InferenceDetail, ToolDetail
from agents.telemetry.reading.dialects import codex
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.sample_spans import START, span

TALK = {"conversation.id": "talk"}
ENDED = "Wall time: 0.0000 seconds\nProcess exited with code {code}\nOutput:\n{words}\n"


def codex_span(id_: str, name: str, parent: str = "", **more: Any) -> Span:
    return span(id_, name=name, parent=parent, scope="codex_exec", **more)


def record(span_id: str, name: str, at: float = 0, **attributes: Any) -> Span:
    event = SpanEvent(f"codex.{name}", START + round(at * 1e9), {"event.name": f"codex.{name}", **attributes})
    return Span("t1", span_id, events=[event], is_log=True, scope="codex_otel.log_only")


def the_call(id_: str, at: float, tokens: tuple[int, int]) -> list[Span]:
    """A model's call as it is sent: the call itself, and beside it the span that read its answer."""
    used = {"gen_ai.usage.input_tokens": tokens[0], "gen_ai.usage.output_tokens": tokens[1]}
    return [
        codex_span(
            f"{id_}-try", "try_run_sampling_request", "run", at=at, attributes={"model": "gpt", "turn_id": "u1"}
        ),
        codex_span(id_, "codex.sampling", f"{id_}-try", at=at, attributes=TALK),
        codex_span(f"{id_}-read", "handle_responses", f"{id_}-try", at=at, attributes=used),
    ]


def the_tool(call: str, parent: str, at: float) -> Span:
    attributes = {**TALK, "tool_name": "exec_command", "codex.tool.phase": "dispatch", "call_id": call}
    return codex_span(call, "exec_command", parent, at=at, attributes=attributes)


def the_turn(*more: Span) -> ExternalTurn:
    spans = [
        codex_span("input", "codex.turn_input", attributes={"turn_id": "u1"}, took=9),
        codex_span("early", "emit_turn_start_lifecycle", "input", attributes={"turn_id": "u1"}),
        codex_span("turn", "session_task.turn", "input", at=0.1, attributes={"turn.id": "u1", "model": "gpt"}, took=8),
        codex_span("run", "run_turn", "turn", at=0.2, attributes=TALK, took=7),
        *the_call("one", 1, (30, 7)),
        the_tool("c1", "one-read", 2),
        *the_call("two", 3, (40, 5)),
        *more,
    ]
    [turn] = build_turns(spans)
    assert [turn] == build_turns(spans[::-1])
    return turn


def tool_of(turn: ExternalTurn) -> tuple[ExternalStep, ToolDetail]:
    [step] = [step for step in turn.steps if step.type == "tool_execution"]
    assert isinstance(step.detail, ToolDetail)
    return step, step.detail


def test_what_only_times_its_work_is_looked_through() -> None:
    turn = the_turn()
    assert (turn.agent, turn.agents, turn.session, turn.model) == ("codex", ("codex",), "talk", "gpt")
    assert [step.type for step in turn.steps] == ["inference", "tool_execution", "inference"]
    assert turn.warnings == (codex.ADVICE,)


def test_a_call_has_the_tokens_and_the_model_of_the_spans_around_it() -> None:
    calls = [step for step in the_turn().steps if step.type == "inference"]
    facts = [
        (step.model, step.usage and step.usage.input_tokens, step.usage and step.usage.output_tokens) for step in calls
    ]
    assert facts == [("gpt", 30, 7), ("gpt", 40, 5)]


def test_a_call_asked_for_the_tools_that_ran_below_it() -> None:
    wished = [
        step.detail.model_response.tool_calls for step in the_turn().steps if isinstance(step.detail, InferenceDetail)
    ]
    assert [[call.call_id for call in calls] for calls in wished] == [["c1"], []]


def test_the_prompts_are_those_of_the_records_in_order() -> None:
    prompts = [record("run", "user_prompt", 1, prompt="Where?"), record("one-read", "user_prompt", 2, prompt="Now?")]
    for told_first in permutations(prompts):
        assert [text_of(message.content) for message in the_turn(*told_first).input] == ["Where?", "Now?"]


@pytest.mark.parametrize("place", ["run", "nowhere", "input"])
def test_a_prompt_that_is_hidden_or_of_no_turn_is_none(place: str) -> None:
    prompt = "[REDACTED]" if place == "run" else "Where?"
    assert [turn.input for turn in build_turns([*_loose(), record(place, "user_prompt", prompt=prompt)])] == [()]


def _loose() -> list[Span]:
    turn = codex_span("turn", "session_task.turn", "input", attributes={"turn.id": "u1"})
    return [codex_span("input", "codex.turn_input"), turn, codex_span("run", "run_turn", "turn")]


@pytest.mark.parametrize(("code", "status"), [(0, "completed"), (3, "failed")])
def test_a_command_is_told_by_its_record(code: int, status: str) -> None:
    attributes: dict[str, Any] = {
        "arguments": '{"cmd": "ls"}',
        "output": ENDED.format(code=code, words="a b"),
        "success": "true",
    }
    step, detail = tool_of(the_turn(record("c1", "tool_result", call_id="c1", **attributes)))
    assert (step.status, detail.tool_calls[0].arguments) == (status, {"cmd": "ls"})
    assert str(detail.tool_responses[0].content).endswith("a b\n")
    assert (step.error.message if step.error else "") == (f"exit code {code}" if code else "")


def test_what_a_command_printed_is_not_how_it_ended() -> None:
    output = ENDED.format(code=0, words="Process exited with code 5")
    assert tool_of(the_turn(record("c1", "tool_result", call_id="c1", output=output)))[0].status == "completed"


def test_a_tool_that_failed_says_so() -> None:
    attributes: dict[str, Any] = {"output": "no such file", "success": "false"}
    step, _ = tool_of(the_turn(record("c1", "tool_result", call_id="c1", **attributes)))
    assert (step.status, step.error and step.error.message) == ("failed", "no such file")


def test_spans_that_are_each_others_parents_end() -> None:
    turn = the_turn(codex_span("a", "x", "b", attributes={"gen_ai.usage.input_tokens": 1}), codex_span("b", "y", "a"))
    assert len(turn.steps) == 3
