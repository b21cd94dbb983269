"""What real SDKs were seen to report otherwise than had been thought; found by ``python -m tests.sdks``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.record.schemas.content import text_of
from agents.record.schemas.events import ToolDetail
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span, SpanEvent
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


@pytest.mark.parametrize(
    ("name", "project", "called"),
    [
        ("weather_desk", "weather-app", "weather_desk"),
        ("LangGraph", "weather-app", "weather-app"),
        ("LangGraph", "default", "LangGraph"),
        ("LangGraph", None, "LangGraph"),
    ],
)
def test_a_graph_without_an_agent_has_its_own_name_or_that_of_its_project(
    name: str, project: str | None, called: str
) -> None:
    top: dict[str, Any] = {"run_type": "chain", "session_name": project, "inputs": {}, "outputs": {}}
    node = {**top, "extra": {"metadata": {"langgraph_node": "answer"}}}
    turn = only_turn(
        span("top", format="langsmith", name=name, took=10, attributes=top),
        span("node", format="langsmith", name="answer", parent="top", at=1, attributes=node),
    )
    assert turn.agent == called


@pytest.mark.parametrize(("project", "called"), [("weather-app", "weather-app"), ("default", "unknown")])
def test_a_models_call_alone_has_the_name_of_its_project(project: str, called: str) -> None:
    top: dict[str, Any] = {"run_type": "llm", "session_name": project, "inputs": {}, "outputs": {}}
    assert only_turn(span("top", format="langsmith", name="ChatOpenAI", attributes=top)).agent == called


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


# ------------------------------------------------------------------------------------------------ events of GenAI


def said(role: str, words: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": words}]}])


def test_strands_tells_of_a_call_in_several_events() -> None:
    """One for what went in, one for what came out, and one for the tools, which knows nothing of either."""
    told = [
        {"gen_ai.input.messages": said("user", "Where?"), "gen_ai.output.messages": "[]"},
        {"gen_ai.output.messages": said("assistant", "In Oslo.")},
        {"gen_ai.input.messages": "", "gen_ai.tool.definitions": "[]"},
    ]
    events = [
        SpanEvent("gen_ai.client.inference.operation.details", START + number, attributes=attributes)
        for number, attributes in enumerate(told)
    ]
    turn = only_turn(model("call", events=events[::-1]))
    assert [text_of(message.content) for message in turn.input] == ["Where?"]
    assert turn.output is not None
    assert text_of(turn.output.content) == "In Oslo."


def test_semantic_kernels_records_have_json_text_in_their_bodies() -> None:
    asked = {"role": "user", "content": "Where?"}
    chosen = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "In Oslo."}}
    events = [
        SpanEvent("gen_ai.user.message", START, body=json.dumps(asked), attributes={"gen_ai.system": "openai"}),
        SpanEvent("gen_ai.choice", START + 1, body=json.dumps(chosen), attributes={"gen_ai.system": "openai"}),
    ]
    turn = only_turn(model("call", events=events))
    assert [text_of(message.content) for message in turn.input] == ["Where?"]
    assert turn.output is not None
    assert text_of(turn.output.content) == "In Oslo."


# ------------------------------------------------------------------------------------------------------- Langfuse


@pytest.mark.parametrize(
    ("sent", "counted"),
    [
        ({"input": 19, "output": 9, "total": 38, "input_cache_read": 8, "output_reasoning": 2}, (27, 11, 8, 2)),
        ({"input": 19, "output": 9, "input_cached_tokens": 8, "output_reasoning_tokens": 2}, (27, 11, 8, 2)),
        ({"input": 19, "input_cache_creation": 100, "input_cache_read": 8, "output": 9}, (127, 9, 8, 0)),
        ({"input": 27, "output": 11, "total": 38, "input_cache_read": 8, "output_reasoning": 2}, (27, 11, 8, 2)),
        ({"input": 19, "output": 9}, (19, 9, 0, 0)),
        ({"input": 19, "input_audio": "x", "output": -9, "input_text": {"a": 1}}, (19, 0, 0, 0)),
        ({"prompt_tokens": 27, "completion_tokens": 11, "prompt_tokens_details": {"cached_tokens": 8}}, (27, 11, 8, 0)),
        ({"input_tokens": 19, "output_tokens": 9, "cache_read_input_tokens": 80}, (99, 9, 80, 0)),
    ],
)
def test_langfuse_counts_each_kind_of_token_apart(sent: dict[str, Any], counted: tuple[int, ...]) -> None:
    attributes = {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "m1",
        "langfuse.observation.usage_details": json.dumps(sent),
    }
    usage = only_turn(span("call", attributes=attributes)).steps[0].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens) == counted


# --------------------------------------------------------------------------------------- calls without ids (Google's)


def google(id_: str, *messages: dict[str, Any], answer: str = "", asks: bool = False, at: float) -> Span:
    calls = (("", "look", {"city": "Paris"}),) if asks else ()
    return model(id_, *messages, answer=answer, calls=calls, at=at, trace=id_, attributes={"session.id": "s-1"})


ASKED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"function": {"name": "look", "arguments": '{"city": "Paris"}'}}],
}


def looked(result: str) -> dict[str, Any]:
    return {"role": "tool", "content": result}


def test_a_call_without_an_id_belongs_to_the_turn_that_asked_for_it() -> None:
    first = [user("How warm?"), ASKED, looked("18"), {"role": "assistant", "content": "It is 18 degrees."}]
    second = [*first, user("And now?")]
    turns = build_turns(
        [
            google("a", user("How warm?"), asks=True, at=0),
            google("b", *first[:3], answer="It is 18 degrees.", at=1),
            google("c", *second, asks=True, at=60),
            google("d", *second, ASKED, looked("19"), asks=True, at=61),
            google("e", *second, ASKED, looked("19"), ASKED, looked("20"), answer="It rises.", at=62),
        ]
    )
    results = [
        [step.detail.tool_responses[0].content for step in turn.steps if isinstance(step.detail, ToolDetail)]
        for turn in turns
    ]
    assert results == [["18"], ["19", "20"]]
    assert [len({step.id for step in turn.steps}) for turn in turns] == [3, 5]
