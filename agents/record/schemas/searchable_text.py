"""Extracts the searchable texts of a record, for the search index and the oracle of queries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agents.record.schemas.content import ToolCall, ToolResponse, text_of
from agents.record.schemas.events import (
    ErrorInfo,
    InferenceDetail,
    MemoryDetail,
    OtherDetail,
    ShieldDetail,
    StepDetail,
    ToolDetail,
)
from agents.record.schemas.search_documents import StepText


def of_input(messages: str) -> str:
    """Return the texts of stored input messages."""
    out = []
    for message in json.loads(messages):
        content = message.get("content")
        items = [content] if isinstance(content, str | dict) else content or []
        out += [item if isinstance(item, str) else item.get("text", "") for item in items]
    return "\n".join(out)


def metadata_text(metadata: Mapping[str, Any]) -> str:
    """Names and plain values, one pair a line."""
    pairs = ((name, value) for name, value in metadata.items() if isinstance(value, str | int | float))
    return "\n".join(f"{name} {value}" for name, value in pairs)


def of_step(detail: StepDetail, error: ErrorInfo | None = None) -> StepText:
    """Return the searchable texts of a step: output and reasoning, arguments, results, errors."""
    problem = error.message if error else ""
    match detail:
        case InferenceDetail():
            message = detail.model_response
            said = _joined(text_of(message.content), detail.reasoning)
            return StepText(said, _joined(*map(_call, message.tool_calls)), "", problem)
        case ToolDetail():
            results = _joined(*(_readable(text_of(response.content)) for response in detail.tool_responses))
            return StepText("", _joined(*map(_call, detail.tool_calls)), results, problem)
        case ShieldDetail():
            return StepText(_joined(*detail.shields), "", "", _joined(violation_of(detail), problem))
        case MemoryDetail():
            return StepText("", detail.query, text_of(detail.inserted_context), problem)
        case OtherDetail():
            return StepText("", detail.kind, flat(detail.data), problem)
    # a type that has nothing of its own to say here
    return StepText("", "", flat(detail.model_dump(mode="json", exclude_none=True)), problem)


def violation_of(detail: StepDetail) -> str:
    """Return the violation of a shield, after its level; empty if there is none."""
    if not isinstance(detail, ShieldDetail) or detail.violation is None:
        return ""
    return f"{detail.violation.violation_level}: {detail.violation.user_message or ''}"


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _call(call: ToolCall) -> str:
    return f"{call.tool_name}\n{flat(arguments_of(call))}"


def arguments_of(call: ToolCall) -> Any:
    """Return the arguments of a call as values; the text itself where that is no JSON."""
    if isinstance(call.arguments, dict) and call.arguments:
        return call.arguments
    return decoded(call.arguments_json or "") if call.arguments_json else call.arguments


def results_of(responses: list[ToolResponse]) -> Any:
    """Return the answer of a tool as values; None where it is no JSON."""
    values = decoded(text_of(responses[0].content)) if responses else None
    return values if isinstance(values, dict | list) else None


def _readable(text: str) -> str:
    """Flatten JSON, so that words next to escapes are found; return any other text as it is."""
    values = decoded(text)
    return flat(values) if isinstance(values, dict | list) else text


def decoded(text: str) -> Any:
    """Decode a JSON object or list; return other texts as they are."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def flat(value: Any) -> str:
    """Join the names and scalar values of JSON in order, one per line."""
    return "\n".join(_values(value))


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _values(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _values(inner)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif value is not None:
        yield str(value)
