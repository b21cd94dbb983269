"""OpenLLMetry / Traceloop (scopes ``opentelemetry.instrumentation.*``, ``traceloop.tracer``).

``traceloop.span.kind`` is the kind of a span, with ``traceloop.entity.*`` beside it; models' calls have ``gen_ai.*``
and no such kind (`genai`), in older versions flattened messages ``gen_ai.prompt.N.role/content/tool_calls.K.*`` and
``gen_ai.completion.N.*``, and ``llm.request.type``. Traps: with two instrumentations on (its default) every model's
call is two spans inside each other, with the same tokens; the id of a call is the item's (``fc_…``), not the one that
its answer names (``call_…``); LangChain's arguments come as ``{"input_str": "{'city': 'Paris'}"}``, a Python repr,
those of a decorated function as Langfuse's do.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first_text, json_of, text
from agents.telemetry.reading.dialects.langfuse import arguments_of
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, SpanFacts
from agents.telemetry.reading.messages import messages_of
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.unflatten import unflatten

_PROMPT, _COMPLETION = "gen_ai.prompt.", "gen_ai.completion."


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(attributes.get("traceloop.span.kind"))
    request = text(attributes.get("llm.request.type"))
    if not sender_kind and not request and not _is_flattened(attributes):
        return None
    facts = SpanFacts(
        kind=kinds.kind_of(sender_kind) if sender_kind else _kind_of_request(request),
        sender_kind=sender_kind or request,
    )
    name = text(attributes.get("traceloop.entity.name"))
    if facts.kind in (kinds.AGENT, kinds.WORKFLOW):
        facts.name = name or text(attributes.get("traceloop.workflow.name"))
    if facts.kind == kinds.AGENT:
        facts.agent = facts.name
    _fill_entity(facts, attributes, name)
    _fill_messages(facts, attributes)
    return facts


def _is_flattened(attributes: dict[str, Any]) -> bool:
    return "gen_ai.prompt.0.role" in attributes or "gen_ai.completion.0.content" in attributes


def _kind_of_request(request_type: str) -> str:
    return {"embedding": "embedding", "rerank": "reranker"}.get(request_type, kinds.LLM)


def _fill_entity(facts: SpanFacts, attributes: dict[str, Any], name: str) -> None:
    entity_input, entity_output = attributes.get("traceloop.entity.input"), attributes.get("traceloop.entity.output")
    if facts.kind != kinds.TOOL:
        facts.input, facts.output = entity_input, entity_output
        return
    facts.tool = name
    inputs = arguments_of(entity_input)
    facts.arguments = inputs
    if isinstance(inputs, dict) and "input_str" in inputs:
        facts.arguments = inputs.get("inputs") or inputs["input_str"]
    output = json_of(entity_output)
    facts.result = output.get("output", entity_output) if isinstance(output, dict) else entity_output
    answers = [message for message in messages_of(facts.result) if message.role == "tool" and message.answered_call]
    if answers:
        facts.call_id, facts.result = answers[0].answered_call, answers[0].text


def _fill_messages(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    for name in attributes:
        if name.startswith(_PROMPT):
            facts.input_messages = LazyMessages(attributes, _input_messages)
        elif name.startswith(_COMPLETION):
            facts.output_messages = LazyMessages(attributes, _output_messages)
    if facts.kind == kinds.LLM:
        facts.model = first_text(attributes, "gen_ai.response.model", "gen_ai.request.model")
        facts.finish = first_text(attributes, "gen_ai.completion.0.finish_reason")


def _input_messages(attributes: dict[str, Any]) -> list[HistoryMessage]:
    return [message for row in unflatten(attributes, _PROMPT) for message in messages_of(_chat_message(row, "user"))]


def _output_messages(attributes: dict[str, Any]) -> list[HistoryMessage]:
    return [
        message
        for row in unflatten(attributes, _COMPLETION)
        for message in messages_of(_chat_message(row, "assistant"))
    ]


def _chat_message(value: dict[str, Any], role: str) -> dict[str, Any]:
    """Convert a message to Chat Completions' shape, which differs in contents of several parts: these are JSON inside
    text."""
    content = value.get("content")
    if isinstance(content, str) and content.startswith('[{"type"'):
        content = json_of(content)
    return {**value, "role": value.get("role", role), "content": content}
