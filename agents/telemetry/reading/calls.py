"""Conversion of the senders' calls and content to the schemas of our records."""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    ContentItem,
    ImageItem,
    StopReason,
    TextItem,
    ToolCall,
    ToolResponse,
    UserMessage,
)
from agents.telemetry.reading.coerce import json_of, text_or_json
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS, clean_json

_LENGTH_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "token_limit", "out_of_tokens"})
_FINISH_REASONS = {
    "tool_call": "tool_calls",
    "tool-calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "end_turn": "stop",
    "end_of_turn": "stop",
    "STOP": "stop",
    "stop_sequence": "stop",
    "completed": "stop",
    "content-filter": "content_filter",
    "SAFETY": "content_filter",
    **dict.fromkeys(_LENGTH_REASONS, "length"),
}


def finish_of(reason: str, *, has_calls: bool) -> str | None:
    """Return why a model stopped, in Chat Completions' words: ``stop``, ``tool_calls``, ``length``, ``content_filter``,
    ``error``, or the sender's own. Calls override a ``stop`` beside them."""
    if has_calls and reason in ("", "stop", "unknown"):
        return "tool_calls"
    return _FINISH_REASONS.get(reason, reason[:60]) or None


def stop_reason(finish: str | None) -> StopReason:
    """Return the stop reason of the Agents API for a finish reason."""
    return "out_of_tokens" if finish == "length" else "end_of_turn"


def content_of(items: list[str | ImageItem]) -> Content:
    """Join items to one content: plain text where there is nothing else."""
    if not items:
        return ""
    if len(items) == 1 and isinstance(items[0], str):
        return items[0]
    if all(isinstance(item, str) for item in items):
        return "\n".join(item for item in items if isinstance(item, str))
    parts: list[ContentItem] = [
        TextItem.model_construct(text=item) if isinstance(item, str) else item for item in items
    ]
    return parts


def call_of(call: RequestedCall, name: str = "", id_: str = "") -> ToolCall:
    """Convert a call; arguments that are no object stay the text they came as."""
    arguments = arguments_of(call.arguments)
    raw = call.arguments if isinstance(call.arguments, str) and isinstance(arguments, dict) else None
    return ToolCall(
        call_id=(id_ or call.id)[:MAX_NAME_CHARS],
        tool_name=(name or call.name)[:MAX_NAME_CHARS],
        arguments=arguments,
        arguments_json=raw,
    )


def arguments_of(value: Any) -> dict[str, Any] | str:
    """Return a call's arguments as an object, else as the text they came as."""
    if value is None:
        return {}
    parsed = json_of(value)
    if isinstance(parsed, dict):
        arguments: dict[str, Any] = clean_json(parsed)
        return arguments
    return text_or_json(value)


def response_to(call: ToolCall, content: Content) -> ToolResponse:
    return ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=content)


def user_message(items: list[str | ImageItem]) -> UserMessage:
    return UserMessage(content=content_of(items))


def completion(messages: list[HistoryMessage], finish: str) -> tuple[CompletionMessage, str | None, str]:
    """Join a model's output to one message; return it with the finish reason and the reasoning."""
    items = [item for message in messages for item in message.items]
    calls = [call_of(call) for message in messages for call in message.calls]
    reason = finish_of(
        finish or next((message.finish for message in messages if message.finish), ""), has_calls=bool(calls)
    )
    reasoning = "\n".join(message.reasoning for message in messages if message.reasoning)
    answer = CompletionMessage(content=content_of(items), stop_reason=stop_reason(reason), tool_calls=calls)
    return answer, reason, reasoning
