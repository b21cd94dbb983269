"""What a node of the tree holds, as the detail of a step."""

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
    """``linked`` is, of a tool, the model's call that it answers."""
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
    answer, why, thoughts = completion(facts.output_messages.messages(), facts.finish)
    return InferenceDetail(
        model_response=answer, model=facts.model[:MAX_NAME_CHARS], finish_reason=why, reasoning=thoughts
    )


def _tool(facts: SpanFacts, linked: RequestedCall | None, *, failed: bool) -> ToolDetail:
    """The model's own words for the arguments go before a tool's, which may be Python's repr of them."""
    given = json_of(facts.arguments)
    if linked is not None and linked.arguments is not None and not isinstance(given, dict):
        given = linked.arguments
    wanted = RequestedCall(facts.call_id or (linked.id if linked is not None else ""), facts.tool, given)
    call = call_of(wanted)
    words = result_text(facts.result)
    answers = [] if words is None or (failed and not words) else [response_to(call, words)]
    return ToolDetail(
        tool_calls=[call],
        tool_responses=answers,
        kind="mcp" if facts.label == "mcp" else None,
    )


def result_text(value: Any) -> str | None:
    """A tool's result as text; None where none was told. JSON of a text is that text, blocks are their words."""
    if value is None:
        return None
    read = json_of(value)
    if isinstance(read, str):
        return read
    if isinstance(read, dict) and isinstance(value, str):
        return value
    return blocks_text(read)


def inferred_tool_detail(call: RequestedCall, answer: HistoryMessage | None) -> ToolDetail:
    wanted = call_of(call)
    words = content_of(answer.items) if answer is not None else ""
    told = [response_to(wanted, words)] if answer is not None and not answer.hidden else []
    return ToolDetail(tool_calls=[wanted], tool_responses=told)


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
    chunks = [clean_json(one) for one in (facts.documents or [])[:MAX_DOCUMENTS]]
    words = [text_or_json(one.get("content", one.get("text", one.get("page_content", "")))) for one in chunks]
    return MemoryDetail.model_construct(
        vector_db_ids=facts.vector_store[:MAX_NAME_CHARS],
        inserted_context="\n\n".join(filter(None, words)),
        query=facts.query,
        chunks=chunks,
    )


def _other(facts: SpanFacts) -> OtherDetail:
    """``input`` and ``output`` are JSON where the sender's were, else text."""
    data: dict[str, Any] = {}
    for name, value in (("input", facts.input), ("output", facts.output)):
        if value is not None and value != "":
            data[name] = clean_json(json_of(value))
    if "input" not in data and facts.kind == kinds.AGENT:
        _tell(data, "input", facts.input_messages.messages())
    if "output" not in data and facts.kind == kinds.AGENT:
        _tell(data, "output", facts.output_messages.messages())
    for name in ("model", "query"):
        if value := getattr(facts, name):
            data[name] = value
    if facts.usage is not None:
        data["usage"] = facts.usage.model_dump(exclude_defaults=True)
    if facts.extra:
        data.update(clean_json(facts.extra))
    return OtherDetail.model_construct(kind=facts.kind, data=data)


def _tell(data: dict[str, Any], name: str, messages: list[HistoryMessage]) -> None:
    """The last words of an agent's messages: the rest is in its steps."""
    words = next((one.text for one in reversed(messages) if one.text), "")
    if words:
        data[name] = words
