"""What real SDKs were seen to report otherwise than had been thought; found by ``python -m tests.sdks``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.record.schemas.content import text_of
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.sample_spans import SECOND, START, model, requested_call, span, tool_result, user


def run(id_: str, kind: str, **more: Any) -> Span:
    """A run of LangSmith's."""
    extra = {"metadata": {"lc_agent_name": "helper"}}
    input_ = {"run_type": kind, "extra": extra, **more.pop("attributes")}
    return span(id_, format="langsmith", attributes=input_, **more)


def only_turn(*spans: Span) -> ExternalTurn:
    (turn,) = build_turns(spans)
    return turn


# ------------------------------------------------------------------------------------------------------ LangChain

FAILED = {"type": "tool", "content": "no such city", "name": "look", "tool_call_id": "c1", "status": "error"}
"""A tool's answer where the tool handles its failures (``handle_tool_error``): the run has no error."""


def graph(inputs: Any) -> Span:
    return run("graph", "chain", attributes={"inputs": inputs, "outputs": {"messages": []}}, took=10)


@pytest.mark.parametrize("status", ["error", "success"])
def test_langsmiths_tool_has_failed_where_its_message_says_so(status: str) -> None:
    outputs = {"output": {**FAILED, "status": status}}
    tool = run("look", "tool", parent="graph", at=1, attributes={"inputs": {"city": "x"}, "outputs": outputs})
    (step,) = only_turn(graph({}), tool).steps
    assert (step.status, step.error is not None) == (("failed", True) if status == "error" else ("completed", False))
    assert step.detail.tool_responses[0].content == "no such city"  # type: ignore[union-attr]  # a tool's


@pytest.mark.parametrize("written", [FAILED, {"type": "tool", "data": FAILED}, {"lc": 1, "kwargs": FAILED}])
def test_openinferences_tool_has_failed_where_its_message_says_so(written: Any) -> None:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": json.dumps(written)}
    agent = span("agent", took=10, attributes={"openinference.span.kind": "AGENT", "agent.name": "helper"})
    (step,) = only_turn(agent, span("look", parent="agent", at=1, attributes=attributes)).steps
    assert step.error is not None
    assert (step.status, step.error.message) == ("failed", "no such city")
    assert step.detail.tool_calls[0].call_id == "c1"  # type: ignore[union-attr]  # a tool's


def test_a_turn_whose_tool_failed_and_that_ended_well_is_completed() -> None:
    tool = run("look", "tool", parent="graph", at=1, attributes={"inputs": {}, "outputs": {"output": FAILED}})
    assert only_turn(graph({}), tool).status == "completed"


@pytest.mark.parametrize("speaker", ["user", "human"])
def test_a_pair_of_speaker_and_words_is_a_message(speaker: str) -> None:
    turn = only_turn(graph({"messages": [["system", "Be brief."], [speaker, "Where?"]]}))
    assert [text_of(message.content) for message in turn.input] == ["Where?"]


@pytest.mark.parametrize("messages", [[["user"]], [["user", 5]], [[5, "user"]], [["x", "y"]], "user", {}, [None, []]])
def test_what_is_no_such_pair_is_left_as_it_is(messages: Any) -> None:
    (turn,) = build_turns([graph({"messages": messages})])
    assert turn.status == "completed"


# --------------------------------------------------------------------------------------- a client without tools


def test_a_made_tool_begins_where_the_model_that_asked_for_it_ended() -> None:
    turns = build_turns(
        [
            model("m", user("Where?"), calls=(("c1", "look", {}),), trace="t1", at=0),
            model(
                "n",
                user("Where?"),
                requested_call("c1"),
                tool_result("c1", "x"),
                calls=(("c2", "look", {}),),
                trace="t2",
                at=2,
            ),
            model(
                "o",
                user("Where?"),
                requested_call("c2"),
                tool_result("c2", "y"),
                answer="Here it is.",
                trace="t3",
                at=4,
            ),
        ],
    )
    tool = [step for turn in turns for step in turn.steps if step.is_inferred]
    assert [step.started_us for step in tool] == [(START + SECOND) // 1000, (START + 3 * SECOND) // 1000]
