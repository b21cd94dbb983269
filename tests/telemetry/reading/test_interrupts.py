"""Graphs of LangGraph that ask somebody: their turns wait, and say for what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.record.schemas.content import text_of
from agents.record.schemas.events import OtherDetail, ToolDetail
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures
from tests.telemetry.reading.sample_spans import agent, model, requested_call, span, tool, tool_result, user

ASKED = "(Interrupt(value='Go on?', id='1', response_schema=None),)"
CAPTURES = ("langsmith__interrupt", "langsmith_otel__interrupt", "openinference_langgraph__interrupt")


def only_turn(*spans: Span) -> ExternalTurn:
    (turn,) = build_turns(spans)
    return turn


def graph(**more: Any) -> Span:
    return span("graph", name="LangGraph", took=20, attributes={"traceloop.span.kind": "workflow"}, **more)


def node(id_: str, raised: str = "", *, parent: str = "graph", at: float = 1, took: float = 1) -> Span:
    """A node of the graph in the words of OpenLLMetry; ``raised`` are the interrupts that left it."""
    attributes = {"traceloop.span.kind": "task", **({"error.type": "GraphInterrupt"} if raised else {})}
    return span(id_, parent=parent, at=at, took=took, attributes=attributes, failed=bool(raised), message=raised)


def answer_of(turn: ExternalTurn) -> str | None:
    return None if turn.output is None else text_of(turn.output.content)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_turn_waits_for_the_answer_to_an_interrupt(name: str) -> None:
    asked, resumed = build_turns(captures.spans(name))
    assert (asked.status, asked.error, answer_of(asked)) == ("awaiting_input", None, "Shall I book the flight?")
    assert asked.ended_us is not None
    assert [(step.status, step.error) for step in asked.steps] == [("completed", None), ("interrupted", None)]
    detail = asked.steps[1].detail
    assert isinstance(detail, OtherDetail)
    assert detail.data["output"] == {"question": "Shall I book the flight?", "price": 120}
    assert (resumed.status, text_of(resumed.input[0].content), answer_of(resumed)) == ("completed", "yes", "Booked.")
    assert {turn.agent for turn in (asked, resumed)} == {"booking-agent"}


def test_openllmetrys_interrupt_is_no_failure() -> None:
    turn = only_turn(graph(), node("a"), node("b", ASKED, at=3))
    assert (turn.status, answer_of(turn)) == ("awaiting_input", "Go on?")
    assert [step.status for step in turn.steps] == ["completed", "interrupted"]


def test_a_graph_that_goes_on_within_the_turn_does_not_wait() -> None:
    turn = only_turn(graph(), node("a", ASKED), node("b", at=5))
    assert (turn.status, turn.steps[0].status) == ("completed", "interrupted")


def test_a_graph_within_a_program_that_goes_on_does_not_wait() -> None:
    program = span("program", took=30, attributes={"traceloop.span.kind": "workflow"})
    inner = span("graph", parent="program", took=5, attributes={"traceloop.span.kind": "workflow"})
    again = span("again", parent="program", at=6, took=5, attributes={"traceloop.span.kind": "workflow"})
    assert only_turn(program, inner, node("a", ASKED), again).status == "completed"
    assert only_turn(program, inner, node("a", ASKED)).status == "awaiting_input"


def test_what_runs_beside_an_interrupt_answers_nothing() -> None:
    beside = (node("b", took=8), node("c", parent="b", at=4))
    assert only_turn(graph(), node("a", ASKED), *beside).status == "awaiting_input"


def test_all_questions_are_asked() -> None:
    other = ASKED.replace("Go on?", "How many?")
    assert answer_of(only_turn(graph(), node("a", ASKED), node("b", other), node("c", ASKED))) == "Go on?\nHow many?"


def test_a_graph_that_failed_does_not_wait() -> None:
    turn = only_turn(graph(failed=True, message="ValueError: no"), node("a", ASKED), node("b", took=8))
    assert (turn.status, turn.error is not None) == ("failed", True)


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ({"question": "Book?", "price": 1}, "Book?"),
        ({"price": 1}, '{"price":1}'),
        ({"action_requests": [{"name": "pay", "description": "Pay 5?"}], "review_configs": []}, "Pay 5?"),
        ([{"action_request": {"action": "pay"}, "description": "Pay 6?"}], "Pay 6?"),
        (["Red?", "Blue?"], "Red?\nBlue?"),
        (7, "7"),
    ],
)
def test_a_question_is_the_text_of_its_value(value: Any, question: str) -> None:
    raised = f"(Interrupt(value={value!r}, resumable=True, ns=['a:1'], when='during'),)"
    assert answer_of(only_turn(graph(), node("a", raised))) == question
    output = json.dumps({"messages": [], "__interrupt__": [{"value": value, "id": "1"}]})
    top = span("top", attributes={"traceloop.span.kind": "workflow", "traceloop.entity.output": output})
    turn = only_turn(top)
    assert (turn.status, answer_of(turn)) == ("awaiting_input", question)


@pytest.mark.parametrize(
    "raised",
    ["(Interrupt(value=AIMessage(content='x'), id='1'),)", "(Interrupt(value='cut", "()", "(" * 30_000, "Interrupt()"],
)
def test_what_is_asked_in_unreadable_words_still_waits(raised: str) -> None:
    turn = only_turn(graph(), node("a", raised))
    assert (turn.status, turn.output, turn.error) == ("awaiting_input", None, None)


def test_other_exceptions_with_such_words_are_failures() -> None:
    event = SpanEvent(name="exception", attributes={"exception.type": "ValueError", "exception.message": ASKED})
    failed = span("a", parent="graph", at=1, attributes={"traceloop.span.kind": "task"}, failed=True, events=[event])
    assert [step.status for step in only_turn(graph(), failed).steps] == ["failed"]


# ---------------------------------------------------------------------------------------------- going on


def resumed(answer: Any) -> Span:
    command = json.dumps({"graph": None, "update": None, "resume": answer, "goto": []})
    attributes = {"openinference.span.kind": "AGENT", "input.value": command, "input.mime_type": "application/json"}
    return span("graph", name="helper", took=20, attributes=attributes)


def called(turn: ExternalTurn) -> list[Any]:
    """What each tool of a turn was called with, and how its step ended."""
    details = [(step.detail, step.status) for step in turn.steps if isinstance(step.detail, ToolDetail)]
    return [(detail.tool_calls[0].call_id, detail.tool_calls[0].arguments, status) for detail, status in details]


@pytest.mark.parametrize(
    ("name", "question", "answer", "arguments"),
    [
        ("openinference_langgraph__tool-interrupt", "May I look at Paris?", "yes", [{"city": "Paris"}]),
        (
            "openinference_langgraph__approval",
            "Tool execution requires approval\n\nTool: get_weather\nArgs: {'city': 'Paris'}",
            'edit: get_weather({"city":"Rome"})',
            [{"city": "Rome"}],
        ),
        (
            "langsmith__approval",
            "Tool execution requires approval\n\nTool: get_weather\nArgs: {'city': 'Paris'}",
            "reject: Better not.",
            [],
        ),
    ],
)
def test_a_decision_is_the_question_of_the_turn_that_goes_on(
    name: str, question: str, answer: str, arguments: list[Any]
) -> None:
    asked, went_on = build_turns(captures.spans(name))
    assert (asked.status, asked.error, answer_of(asked)) == ("awaiting_input", None, question)
    assert (went_on.status, answer_of(went_on)) == ("completed", "It is clear in Paris, at 18 degrees.")
    assert [text_of(message.content) for message in went_on.input] == [answer]
    assert [given for _, given, _ in called(went_on)] == arguments
    assert all(call for call, _, _ in called(went_on))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", "yes"),
        (False, "false"),
        (0, "0"),
        ({"approved": True, "text": "go"}, '{"approved":true,"text":"go"}'),
        ({"text": "go"}, "go"),
        (["red", "blue"], "red\nblue"),
        ({"decisions": [{"type": "approve"}, {"type": "respond", "message": "18"}]}, "approve\nrespond: 18"),
        ({"decisions": [{"type": "approve", "message": {"a": 1}}]}, 'approve: {"a":1}'),
        ([{"type": "accept", "args": None}], "accept"),
        ([{"type": "response", "args": "Ask Ann."}], "response: Ask Ann."),
        ([{"type": "edit", "args": {"action": "pay", "args": {"sum": 5}}}], 'edit: pay({"sum":5})'),
        ({"decisions": []}, '{"decisions":[]}'),
        ({"decisions": [{"type": 1}, None]}, '{"decisions":[{"type":1},null]}'),
        ({"86d656492599c51832fc60db67f89bce": "yes", "fede1e5920394a03ada26ad685d01534": [1]}, "yes\n[1]"),
        ({"messages": [{"role": "user", "content": "Go on."}]}, "Go on."),
    ],
)
def test_whatever_somebody_answers_is_the_question_of_the_turn(answer: Any, words: str) -> None:
    """Not the question before it, which the model's history still has."""
    turn = only_turn(resumed(answer), model("m", user("Pay them."), answer="Paid.", parent="graph", at=1))
    assert "\n".join(text_of(message.content) for message in turn.input) == words


@pytest.mark.parametrize(
    ("own", "arguments"),
    [
        ("Rome", {"city": "Rome"}),
        ("Paris", {"city": "Paris"}),
        (None, {"city": "Paris"}),
        ('{"city": "Rome", "days": 2}', {"city": "Rome", "days": 2}),
        ("{'city': 'Paris'}", {"city": "Paris"}),
    ],
)
def test_a_tool_that_was_approved_has_its_call_from_the_history(own: str | None, arguments: dict[str, Any]) -> None:
    asked = requested_call("c1")
    asked["tool_calls"][0]["function"]["arguments"] = '{"city": "Paris"}'
    named = {"gen_ai.tool.call.id": "c1", **({"gen_ai.tool.call.arguments": own} if own else {})}
    spans = [
        agent(took=20),
        tool("t", parent="agent", at=1, attributes=named),
        model("m", user("How warm?"), asked, tool_result("c1", "18"), answer="18.", parent="agent", at=3),
    ]
    assert called(only_turn(*spans)) == [("c1", arguments, "completed")]
