"""LangSmith: its own runs (``run_type``, ``inputs``, ``outputs``, ``extra``), and the spans of its OpenTelemetry mode.

Inputs and outputs are LangChain's objects, written in one of its two ways (`messages`). A run's ``extra.metadata`` has
the thread, the agent's name (``lc_agent_name``) and ``usage_metadata``; ``extra.tool_call_id`` the call. Over
OpenTelemetry the same is in ``langsmith.span.kind``, ``langsmith.metadata.*``, ``gen_ai.prompt``, ``.completion``.
Traps: ``session_name`` is a project, no session; a graph is a ``chain`` like every node in it, and only
``lc_agent_name`` tells which are agents; errors hold a whole traceback.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first_text, json_of, mapping, text
from agents.telemetry.reading.dialects.langchain import answer_of_tool, with_messages
from agents.telemetry.reading.dialects.langfuse import documents_of, query_of
from agents.telemetry.reading.dialects.token_usage import usage_of
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(attributes.get("run_type"))
    if not sender_kind:
        return None
    extra = mapping(attributes.get("extra"))
    metadata = mapping(extra.get("metadata"))
    facts = SpanFacts(
        kind=kinds.kind_of(sender_kind), sender_kind=sender_kind, agent=text(metadata.get("lc_agent_name"))
    )
    inputs, outputs = attributes.get("inputs"), attributes.get("outputs")
    if facts.kind == kinds.LLM:
        _fill_model(facts, inputs, outputs, metadata, extra)
    elif facts.kind == kinds.TOOL:
        _fill_tool(facts, inputs, outputs, extra, span)
    elif facts.kind == kinds.RETRIEVER:
        facts.query, facts.documents = query_of(inputs), documents_of(outputs)
    else:
        facts.input, facts.output = with_messages(inputs), outputs or None
    error = attributes.get("error")
    if isinstance(error, str) and error:
        facts.error = error_of(error)
    return facts


def _fill_model(facts: SpanFacts, inputs: Any, outputs: Any, metadata: dict[str, Any], extra: dict[str, Any]) -> None:
    facts.input_messages, facts.output_messages = LazyMessages(inputs, read_input), LazyMessages(outputs, read_output)
    params = mapping(extra.get("invocation_params"))
    output = mapping(mapping(outputs).get("llm_output"))
    facts.model = first_text(output, "model_name", "model") or first_text(metadata, "ls_model_name")
    facts.model = facts.model or first_text(params, "model", "model_name")
    facts.provider = first_text(metadata, "ls_provider") or first_text(output, "model_provider")
    facts.usage = usage_of(metadata.get("usage_metadata")) or usage_of(output.get("token_usage"))
    facts.tools = params.get("tools")


def _fill_tool(facts: SpanFacts, raw_inputs: Any, raw_outputs: Any, extra: dict[str, Any], span: Span) -> None:
    facts.tool = span.name
    facts.call_id = text(extra.get("tool_call_id"))
    inputs = mapping(raw_inputs)
    facts.arguments = inputs.get("input", raw_inputs) if inputs.keys() <= {"input"} else raw_inputs
    output = json_of(raw_outputs)
    facts.result = output.get("output", raw_outputs) if isinstance(output, dict) and output else None
    answer_of_tool(facts, facts.result)


def read_otel(span: Span) -> SpanFacts | None:
    """Read a span of LangSmith's OpenTelemetry mode."""
    attributes = span.attributes
    sender_kind = text(attributes.get("langsmith.span.kind"))
    if not sender_kind:
        return None
    facts = SpanFacts(
        kind=kinds.kind_of(sender_kind),
        sender_kind=sender_kind,
        agent=text(attributes.get("langsmith.metadata.lc_agent_name")),
    )
    inputs, outputs = attributes.get("gen_ai.prompt"), attributes.get("gen_ai.completion")
    if facts.kind == kinds.LLM:
        facts.input_messages, facts.output_messages = (
            LazyMessages(inputs, read_input),
            LazyMessages(outputs, read_output),
        )
    elif facts.kind == kinds.TOOL:
        _fill_tool(facts, inputs, outputs, {}, span)
        facts.tool = first_text(attributes, "langsmith.trace.name", "gen_ai.tool.name") or span.name
    else:
        facts.input, facts.output = with_messages(inputs), outputs
    return facts
