"""Calls and content as the records hold them."""

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

_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "token_limit", "out_of_tokens"})
_FINISH = {
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
    **dict.fromkeys(_SHORT, "length"),
}


def finish_of(word: str, *, has_calls: bool) -> str | None:
    """Why a model stopped, in Chat Completions' words: ``stop``, ``tool_calls``, ``length``, ``content_filter``,
    ``error``, or the sender's own. Calls are believed more than a ``stop`` beside them."""
    if has_calls and word in ("", "stop", "unknown"):
        return "tool_calls"
    return _FINISH.get(word, word[:60]) or None


def stop_reason(finish: str | None) -> StopReason:
    return "out_of_tokens" if finish == "length" else "end_of_turn"


def content_of(items: list[str | ImageItem]) -> Content:
    """Text where there is nothing else."""
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
    """A call; what is no object is kept as the text it came as."""
    read = arguments_of(call.arguments)
    raw = call.arguments if isinstance(call.arguments, str) and isinstance(read, dict) else None
    return ToolCall(
        call_id=(id_ or call.id)[:MAX_NAME_CHARS],
        tool_name=(name or call.name)[:MAX_NAME_CHARS],
        arguments=read,
        arguments_json=raw,
    )


def arguments_of(value: Any) -> dict[str, Any] | str:
    if value is None:
        return {}
    read = json_of(value)
    if isinstance(read, dict):
        return clean_json(read)  # type: ignore[no-any-return]  # `plain` is typed Any: of a dictionary it makes one
    return text_or_json(value)


def response_to(call: ToolCall, content: Content) -> ToolResponse:
    return ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=content)


def user_message(items: list[str | ImageItem]) -> UserMessage:
    return UserMessage(content=content_of(items))


def completion(messages: list[HistoryMessage], finish: str) -> tuple[CompletionMessage, str | None, str]:
    """What a model answered as one message, why it stopped, and what it thought."""
    items = [item for message in messages for item in message.items]
    calls = [call_of(call) for message in messages for call in message.calls]
    why = finish_of(finish or next((one.finish for one in messages if one.finish), ""), has_calls=bool(calls))
    thoughts = "\n".join(one.reasoning for one in messages if one.reasoning)
    answer = CompletionMessage(content=content_of(items), stop_reason=stop_reason(why), tool_calls=calls)
    return answer, why, thoughts
