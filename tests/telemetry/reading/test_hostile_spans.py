"""Whatever a sender says, turns come of it or none, and no exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.telemetry.reading.conversation_links import links_of
from agents.telemetry.reading.spans import Format, Span, SpanEvent
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.sample_spans import agent, model, span, tool, user

NAMES = """
gen_ai.operation.name gen_ai.agent.name gen_ai.tool.name gen_ai.tool.call.id gen_ai.tool.call.arguments
gen_ai.tool.call.result gen_ai.input.messages gen_ai.output.messages gen_ai.system_instructions metadata
gen_ai.tool.definitions gen_ai.usage.input_tokens gen_ai.usage.output_tokens gen_ai.response.finish_reasons
gen_ai.request.model gen_ai.prompt.0.role gen_ai.prompt.0.content gen_ai.completion.0.tool_calls.0.name
gen_ai.retrieval.documents gen_ai.response.time_to_first_chunk operation.cost pydantic_ai.all_messages
pydantic_ai.new_message_index final_result openinference.span.kind input.value output.value tool.name
llm.input_messages.0.message.role llm.input_messages.0.message.content llm.input_messages.0.message.contents
llm.output_messages.0.message.tool_calls.0.tool_call.function.name llm.tools.0.tool.json_schema tag.tags
retrieval.documents.0.document.content langfuse.observation.type langfuse.observation.input
langfuse.observation.output langfuse.observation.usage_details langfuse.observation.cost_details
langfuse.observation.level mlflow.spanType mlflow.spanInputs mlflow.spanOutputs mlflow.chat.tokenUsage
ai.operationId ai.prompt ai.prompt.messages ai.prompt.tools ai.response.text ai.response.toolCalls
ai.toolCall.args ai.usage.inputTokens traceloop.span.kind traceloop.entity.input traceloop.entity.output
span.type user_prompt input_tokens success tool_input request_data response_data langsmith.span.kind
session.id user.id error.type run_type inputs outputs extra error object span_data workflow_name type data
turn_id output __type__ request message payload model usage content
"""
WORDS = """
chat execute_tool invoke_agent invoke_workflow retrieval LLM TOOL AGENT CHAIN RETRIEVER GUARDRAIL RERANKER
generation agent tool CHAT_MODEL ai.generateText ai.generateText.doGenerate ai.toolCall workflow interaction
llm_request llm response function handoff guardrail custom trace user assistant [{ {} [] null true 1e999 "x"
__REDACTED__
"""
KEYS = """
role content parts type text tool_calls id name arguments function messages data kwargs lc message choices
generations output args input tool_call_id response result image_url source server_tool_call
"""
SPANS = " inference run_shield_x session_task.turn llm_call claude_code.x"
EVENTS = "exception gen_ai.choice gen_ai.tool.message gen_ai.user.message tool.output"

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(WORDS.split())
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=4),
    max_leaves=12,
)
attributes = st.dictionaries(st.sampled_from(NAMES.split()), values | values.map(json.dumps), max_size=8)
ids = st.sampled_from(["", "a", "b", "c", "d"])
moments = st.integers(0, 2**63 - 1)
events = st.builds(
    SpanEvent,
    name=st.sampled_from(EVENTS.split()),
    at_ns=moments,
    attributes=st.dictionaries(st.sampled_from(["content", "message", "id", "exception.message"]), values, max_size=3),
    body=values,
)
formats: st.SearchStrategy[Format] = st.sampled_from(
    [
        "otlp",
        "openai_agents",
        "langsmith",
        "mlflow",
        "phoenix",
        "langfuse",
        "openai_chat",
        "atif",
        "claude_code",
        "codex",
        "gemini_cli",
    ]
)
spans = st.builds(
    Span,
    trace=st.sampled_from(["t", "u"]),
    id=ids,
    parent=ids,
    name=st.sampled_from(SPANS.split(" ")),
    start_ns=moments,
    end_ns=moments,
    failed=st.booleans(),
    message=st.text(max_size=20),
    attributes=attributes,
    events=st.lists(events, max_size=2),
    resource=st.dictionaries(st.sampled_from(["service.name", "session.id"]), leaves, max_size=2),
    scope=st.sampled_from(["", "openai_agents", "com.anthropic.claude_code.tracing", "codex"]),
    dropped=st.integers(0, 9),
    format=formats,
    is_log=st.booleans(),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(spans, max_size=6))
def test_it_makes_something_of_anything(told: list[Span]) -> None:
    for turn in build_turns(told):
        assert turn.id
        assert turn.session
        assert turn.agent
        for step in turn.steps:
            json.dumps(step.detail.model_dump(mode="json"), allow_nan=False)
    links_of(told)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '[{"role": "user", "content": ' + "[" * 5000 + "]" * 5000 + "}]",
        '[{"role": "user", "content": "\\ud800 \\u0000"}]',
        '[{"role": "user", "content": 1' + "0" * 5000 + "}]",
        "[NaN, Infinity]",
    ],
)
def test_text_that_is_no_good_json_does_no_harm(text: str) -> None:
    spans = [
        model("m", attributes={"gen_ai.input.messages": text, "gen_ai.tool.definitions": text}),
        tool("t", parent="m", attributes={"gen_ai.tool.call.arguments": text}),
        span("c", parent="m", attributes={"openinference.span.kind": "CHAIN", "input.value": text}),
    ]
    (turn,) = build_turns(spans)
    for step in turn.steps:
        step.detail.model_dump_json().encode()
    for message in turn.input:
        assert "\\u0000" not in message.model_dump_json()


def test_an_index_of_a_billion_makes_no_list_of_a_billion() -> None:
    numbers = {f"llm.input_messages.{n}.message.role": "user" for n in ("999999999", "0", "x", "-1")}
    words = {"llm.input_messages.999999999.message.content": "Hi"}
    (turn,) = build_turns([span("m", attributes={"openinference.span.kind": "LLM", **numbers, **words})])
    assert turn.input[0].content == "Hi"


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("shape", ["chain", "circle", "wide", "plain", "models"])
def test_big_traces_come_to_an_end(shape: str) -> None:
    """Ten thousand spans, however they hang together: about a second. What grows with the square would take
    minutes."""
    assert build_turns(_big(shape, 10_000))


def _big(shape: str, count: int) -> list[Span]:
    if shape == "wide":
        return [agent("0"), *(tool(str(n), parent="0", at=n / 1e6) for n in range(1, count))]
    if shape == "plain":
        above = [span(str(n), parent=str(n - 1)) for n in range(1, count)]
        return [*above, *(agent(f"a{n}", parent=str(count - 1)) for n in range(99))]
    if shape == "models":
        return [model(str(n), user("A?"), parent=str(n - 1) if n else "") for n in range(count)]
    first = str(count - 1) if shape == "circle" else ""
    return [agent(str(n), parent=str(n - 1) if n else first) for n in range(count)]


@pytest.mark.timeout(60)
def test_many_open_calls_of_one_name_are_linked() -> None:
    calls: tuple[tuple[str, str, Any], ...] = tuple((f"c{n}", "look", {}) for n in range(5000))
    tools = [tool(f"t{n}", parent="agent", at=2 + n / 1e6) for n in range(5000)]
    (turn,) = build_turns([agent(), model("m", user("A?"), calls=calls, parent="agent", at=1), *tools])
    assert len(turn.steps) == 5001
