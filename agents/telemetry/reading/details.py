"""Details of steps, built from the nodes of the tree."""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import SafetyViolation
from agents.record.schemas.events import (
    InferenceDetail,
    MemoryDetail,
    OtherDetail,
    ShieldDetail,
    StepDetail,
    ToolDetail,
)
from agents.telemetry.reading import kinds
from agents.telemetry.reading.calls import call_of, completion, content_of, response_to
from agents.telemetry.reading.coerce import json_of, text_or_json
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall, SpanFacts
from agents.telemetry.reading.message_parts import blocks_text
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS, clean_json
from agents.telemetry.reading.tree import SpanNode

MAX_DOCUMENTS = 1000


def detail_of(node: SpanNode, linked: RequestedCall | None, *, failed: bool) -> StepDetail:
    """Build the detail of a step. ``linked`` is, of a tool, the model's call that it answers."""
    match node.kind:
        case kinds.LLM:
            return _inference(node.facts)
        case kinds.TOOL:
            return _tool(node.facts, linked, failed=failed)
        case kinds.GUARDRAIL:
            return _shield(node.facts, node.span.name)
        case kinds.RETRIEVER:
            return _memory(node.facts)
        case _:
            return _other(node.facts)


def _inference(facts: SpanFacts) -> InferenceDetail:
    answer, reason, reasoning = completion(facts.output_messages.messages(), facts.finish)
    return InferenceDetail(
        model_response=answer, model=facts.model[:MAX_NAME_CHARS], finish_reason=reason, reasoning=reasoning
    )


def _tool(facts: SpanFacts, linked: RequestedCall | None, *, failed: bool) -> ToolDetail:
    """Prefer the model's own arguments to the tool's, which may be Python's repr of them."""
    arguments = json_of(facts.arguments)
    if linked is not None and linked.arguments is not None and not isinstance(arguments, dict):
        arguments = linked.arguments
    request = RequestedCall(facts.call_id or (linked.id if linked is not None else ""), facts.tool, arguments)
    call = call_of(request)
    result = result_text(facts.result)
    responses = [] if result is None or (failed and not result) else [response_to(call, result)]
    return ToolDetail(
        tool_calls=[call],
        tool_responses=responses,
        kind="mcp" if facts.label == "mcp" else None,
    )


def result_text(value: Any) -> str | None:
    """Return a tool's result as text; None where there is none. JSON of a text is that text; of blocks the texts are
    joined."""
    if value is None:
        return None
    parsed = json_of(value)
    if isinstance(parsed, str):
        return parsed
    if isinstance(parsed, dict) and isinstance(value, str):
        return value
    return blocks_text(parsed)


def inferred_tool_detail(call: RequestedCall, answer: HistoryMessage | None) -> ToolDetail:
    """Build the detail of a tool run that only messages show."""
    tool_call = call_of(call)
    content = content_of(answer.items) if answer is not None else ""
    responses = [response_to(tool_call, content)] if answer is not None and not answer.hidden else []
    return ToolDetail(tool_calls=[tool_call], tool_responses=responses)


def _shield(facts: SpanFacts, name: str) -> ShieldDetail:
    violation = None
    if facts.violation:
        violation = SafetyViolation.model_construct(violation_level="error", user_message=facts.violation[:4000])
    return ShieldDetail.model_construct(
        touchpoint="assistant-output" if facts.touchpoint == "assistant-output" else "user-input",
        shields=[(facts.tool or facts.name or name)[:MAX_NAME_CHARS]],
        violation=violation,
    )


def _memory(facts: SpanFacts) -> MemoryDetail:
    chunks = [clean_json(chunk) for chunk in (facts.documents or [])[:MAX_DOCUMENTS]]
    texts = [text_or_json(chunk.get("content", chunk.get("text", chunk.get("page_content", "")))) for chunk in chunks]
    return MemoryDetail.model_construct(
        vector_db_ids=facts.vector_store[:MAX_NAME_CHARS],
        inserted_context="\n\n".join(filter(None, texts)),
        query=facts.query,
        chunks=chunks,
    )


def _other(facts: SpanFacts) -> OtherDetail:
    """Build an ``other`` detail: ``input`` and ``output`` are JSON where the sender's were, else text."""
    data: dict[str, Any] = {}
    for name, value in (("input", facts.input), ("output", facts.output)):
        if value is not None and value != "":
            data[name] = clean_json(json_of(value))
    if "input" not in data and facts.kind == kinds.AGENT:
        _add_last_text(data, "input", facts.input_messages.messages())
    if "output" not in data and facts.kind == kinds.AGENT:
        _add_last_text(data, "output", facts.output_messages.messages())
    for name in ("model", "query"):
        if value := getattr(facts, name):
            data[name] = value
    if facts.usage is not None:
        data["usage"] = facts.usage.model_dump(exclude_defaults=True)
    if facts.extra:
        data.update(clean_json(facts.extra))
    return OtherDetail.model_construct(kind=facts.kind, data=data)


def _add_last_text(data: dict[str, Any], name: str, messages: list[HistoryMessage]) -> None:
    """Add the last text of an agent's messages: the others are in its steps."""
    text = next((message.text for message in reversed(messages) if message.text), "")
    if text:
        data[name] = text
