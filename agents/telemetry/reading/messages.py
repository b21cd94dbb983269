"""Parser of messages in any of the shapes that senders write them in.

Chat Completions, Responses items, the parts of OpenTelemetry, Anthropic's and Bedrock's blocks, Google's parts, and
LangChain's two ways of writing its objects differ in where they keep a role and what they call a part; all of them
may stand inside each other and inside text.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import json_of, text
from agents.telemetry.reading.facts import HistoryMessage, HistoryRole, RequestedCall
from agents.telemetry.reading.message_parts import add_part, blocks_text
from agents.telemetry.reading.sanitize import MAX_ITEMS

MAX_NESTING = 8
"""Levels of lists and wrappers around a message."""

HIDDEN = "__REDACTED__"
"""OpenInference's replacement for text that its user does not send."""

_ROLES: dict[str, HistoryRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "SystemMessage": "system",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "tool-call": "assistant",
    "tool": "tool",
    "function": "tool",
    "tool-response": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
}
_SPEAKERS = frozenset({"human", "user", "ai", "assistant", "system", "developer", "tool", "function"})
_WRAPPERS = ("messages", "choices", "generations", "message", "update", "output", "candidates", "content")
_ITEM_TYPES = frozenset(
    {"function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "reasoning"}
)


def role_of(name: Any, default: HistoryRole = "user") -> HistoryRole:
    """Return our role for a sender's."""
    return _ROLES.get(name, default) if isinstance(name, str) else default


def messages_of(value: Any, role: HistoryRole = "user") -> list[HistoryMessage]:
    """Return all messages in a value, in order; ``role`` is that of a bare text."""
    messages: list[HistoryMessage] = []
    _collect(json_of(value), role, messages, 0)
    return messages


def read_input(value: Any) -> list[HistoryMessage]:
    """Return the messages of a model's input."""
    return messages_of(value, "user")


def read_output(value: Any) -> list[HistoryMessage]:
    """Return the messages of a model's output."""
    return messages_of(value, "assistant")


def _collect(value: Any, role: HistoryRole, messages: list[HistoryMessage], depth: int) -> None:
    if depth > MAX_NESTING or len(messages) >= MAX_ITEMS:
        return
    if isinstance(value, str):
        if value:
            messages.append(_text_message(value, role))
    elif isinstance(value, list) and _is_pair(value):
        _add_message({"content": value[1]}, role_of(value[0]), messages)
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            _collect(item, role, messages, depth + 1)
    elif isinstance(value, dict):
        _collect_object(value, role, messages, depth)


def _is_pair(value: list[Any]) -> bool:
    """Whether a list is a message as callers of LangChain may give it: a role and a text."""
    return len(value) == 2 and isinstance(value[0], str) and value[0] in _SPEAKERS and isinstance(value[1], (str, list))


def _text_message(content: str, role: HistoryRole) -> HistoryMessage:
    return HistoryMessage(role, hidden=True) if content == HIDDEN else HistoryMessage(role, [content])


def _collect_object(value: dict[str, Any], role: HistoryRole, messages: list[HistoryMessage], depth: int) -> None:
    """Collect a message, the messages in a wrapper, or nothing."""
    speaker = value.get("role")
    if speaker is None and "lc" in value:
        value = _unwrapped(value)
        speaker = value.get("type")
    kind = value.get("type")
    if isinstance(speaker, str):
        _add_message(value, role_of(speaker, role), messages)
    elif isinstance(kind, str) and kind in _ROLES and isinstance(value.get("data"), dict):
        _add_message(value["data"], _ROLES[kind], messages)
    elif isinstance(kind, str) and kind in _ROLES and "content" in value:
        _add_message(value, _ROLES[kind], messages)
    elif isinstance(kind, str) and kind in _ITEM_TYPES:
        _add_message({"content": [value]}, "assistant", messages)
    else:
        _collect_wrapped(value, role, messages, depth)


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Unwrap LangChain's ``{"lc": 1, "type": "constructor", "id": [… "HumanMessage"], "kwargs": {…}}``."""
    kwargs, path = value.get("kwargs"), value.get("id")
    if not isinstance(kwargs, dict):
        return {}
    name = path[-1] if isinstance(path, list) and path else ""
    return {**kwargs, "type": name if isinstance(name, str) and name in _ROLES else kwargs.get("type")}


def _collect_wrapped(value: dict[str, Any], role: HistoryRole, messages: list[HistoryMessage], depth: int) -> None:
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, (list, dict)):
            count = len(messages)
            _collect(
                inner, "assistant" if name in ("choices", "generations", "candidates") else role, messages, depth + 1
            )
            _set_finish(value, messages[count:])
            if len(messages) > count:
                return
    content = value.get("text")
    if isinstance(content, str) and content and ("generation_info" in value or value.get("type") in _TEXT_TYPES):
        messages.append(_text_message(content, role))


_TEXT_TYPES = ("text", "output_text", "input_text", "Generation")


def _set_finish(value: dict[str, Any], messages: list[HistoryMessage]) -> None:
    """Set the finish reason, which Chat Completions and LangChain keep beside a message."""
    holder = value.get("generation_info")
    reason = (holder if isinstance(holder, dict) else value).get("finish_reason")
    if isinstance(reason, str):
        for message in messages:
            message.finish = message.finish or reason


def _add_message(value: dict[str, Any], role: HistoryRole, messages: list[HistoryMessage]) -> None:
    message = HistoryMessage(role)
    position = len(messages)
    messages.append(message)
    content = value.get("parts") if value.get("content") is None else value["content"]
    if isinstance(content, str) and content[:2] == "[{":
        content = _bedrock_blocks(content)
    if role == "tool":
        _fill_tool_answer(value, content, message)
    elif isinstance(content, str):
        _add_text(message, content)
    else:
        for part in content[:MAX_ITEMS] if isinstance(content, list) else [content]:
            add_part(part, message, messages)
    _add_calls(value, message)
    _drop_repeated_calls(message)
    _add_ending(value, message)
    if len(messages) > position + 1 and not (message.items or message.calls or message.reasoning):
        del messages[position]  # only answers of tools were in it


def _bedrock_blocks(content: str) -> Any:
    """Parse Bedrock's blocks, which Strands writes as text; a text that only looks like them stays one."""
    parsed = json_of(content)
    if isinstance(parsed, list) and all(isinstance(block, dict) and block.keys() <= _BLOCK_KEYS for block in parsed):
        return parsed
    return content


_BLOCK_KEYS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "cachePoint"})


def _add_text(message: HistoryMessage, content: str) -> None:
    if content == HIDDEN:
        message.hidden = True
    elif content:
        message.items.append(content)


def _fill_tool_answer(value: dict[str, Any], content: Any, message: HistoryMessage) -> None:
    """Read a tool's message: of one call, or, in OpenTelemetry's and Google's way, of those that its parts name."""
    message.answered_call = text(value.get("tool_call_id") or value.get("call_id") or value.get("id"))
    answers: list[HistoryMessage] = []
    for part in content[:MAX_ITEMS] if isinstance(content, list) else ():
        add_part(part, message, answers)
    if answers:
        first = answers[0]
        message.items, message.answered_call = (
            [*message.items, *first.items],
            first.answered_call or message.answered_call,
        )
    elif not isinstance(content, list):
        _add_text(message, blocks_text(content))
    message.hidden = message.hidden or ("content" not in value and "parts" not in value)


def _add_calls(value: dict[str, Any], message: HistoryMessage) -> None:
    calls = json_of(value.get("tool_calls"))
    for call in calls[:MAX_ITEMS] if isinstance(calls, list) else ():
        request = _call(call)
        if request is not None and all(request.id != existing.id or not request.id for existing in message.calls):
            message.calls.append(request)


def _drop_repeated_calls(message: HistoryMessage) -> None:
    """Remove texts that are JSON of a call that the message has: OpenLLMetry writes Anthropic's blocks so."""
    if message.calls:
        ids = {call.id for call in message.calls if call.id}
        message.items = [item for item in message.items if not (isinstance(item, str) and _is_call_of(item, ids))]


def _is_call_of(item: str, ids: set[str]) -> bool:
    block = json_of(item) if item.startswith("{") and '"tool_use"' in item else None
    return isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") in ids


def _call(value: Any) -> RequestedCall | None:
    """Read one call, of Chat Completions or of LangChain."""
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    arguments = inner.get("arguments", inner.get("args", inner.get("input")))
    return RequestedCall(text(value.get("id") or value.get("call_id")), text(inner.get("name")), arguments)


def _add_ending(value: dict[str, Any], message: HistoryMessage) -> None:
    finish = value.get("finish_reason") or value.get("stop_reason")
    if isinstance(finish, str):
        message.finish = finish
    reasoning = value.get("reasoning_content") or value.get("reasoning")
    if isinstance(reasoning, str) and reasoning and not message.reasoning:
        message.reasoning = reasoning
    if not (message.items or message.calls or message.reasoning or message.answered_call):
        message.hidden = message.hidden or ("content" not in value and "parts" not in value)
