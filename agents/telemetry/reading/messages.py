"""Messages in any of the shapes that senders tell them in, read into ours.

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
"""How deep messages may lie in lists and wrappers."""

HIDDEN = "__REDACTED__"
"""What OpenInference writes in place of words that its user does not send."""

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
_WRAPPERS = ("messages", "choices", "generations", "message", "update", "output", "candidates", "content")
_ITEMS = frozenset(
    {"function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output", "reasoning"}
)


def role_of(name: Any, otherwise: HistoryRole = "user") -> HistoryRole:
    """Our word for what a sender calls who speaks."""
    return _ROLES.get(name, otherwise) if isinstance(name, str) else otherwise


def messages_of(value: Any, role: HistoryRole = "user") -> list[HistoryMessage]:
    """All messages in a value, in order; ``role`` is whose words a bare text is."""
    found: list[HistoryMessage] = []
    _collect(json_of(value), role, found, 0)
    return found


def read_input(value: Any) -> list[HistoryMessage]:
    """What a model was given."""
    return messages_of(value, "user")


def read_output(value: Any) -> list[HistoryMessage]:
    """What a model answered."""
    return messages_of(value, "assistant")


def _collect(value: Any, role: HistoryRole, found: list[HistoryMessage], depth: int) -> None:
    if depth > MAX_NESTING or len(found) >= MAX_ITEMS:
        return
    if isinstance(value, str):
        if value:
            found.append(_plain(value, role))
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            _collect(item, role, found, depth + 1)
    elif isinstance(value, dict):
        _collect_object(value, role, found, depth)


def _plain(words: str, role: HistoryRole) -> HistoryMessage:
    return HistoryMessage(role, hidden=True) if words == HIDDEN else HistoryMessage(role, [words])


def _collect_object(value: dict[str, Any], role: HistoryRole, found: list[HistoryMessage], depth: int) -> None:
    """A message, something that holds messages, or nothing of the kind."""
    speaker = value.get("role")
    if speaker is None and "lc" in value:
        value = _unwrapped(value)
        speaker = value.get("type")
    kind = value.get("type")
    if isinstance(speaker, str):
        _message(value, role_of(speaker, role), found)
    elif isinstance(kind, str) and kind in _ROLES and isinstance(value.get("data"), dict):
        _message(value["data"], _ROLES[kind], found)
    elif isinstance(kind, str) and kind in _ROLES and "content" in value:
        _message(value, _ROLES[kind], found)
    elif isinstance(kind, str) and kind in _ITEMS:
        _message({"content": [value]}, "assistant", found)
    else:
        _collect_wrapped(value, role, found, depth)


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """LangChain's ``{"lc": 1, "type": "constructor", "id": [… "HumanMessage"], "kwargs": {…}}``."""
    kwargs, path = value.get("kwargs"), value.get("id")
    if not isinstance(kwargs, dict):
        return {}
    name = path[-1] if isinstance(path, list) and path else ""
    return {**kwargs, "type": name if isinstance(name, str) and name in _ROLES else kwargs.get("type")}


def _collect_wrapped(value: dict[str, Any], role: HistoryRole, found: list[HistoryMessage], depth: int) -> None:
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, (list, dict)):
            before = len(found)
            _collect(inner, "assistant" if name in ("choices", "generations", "candidates") else role, found, depth + 1)
            _finish(value, found[before:])
            if len(found) > before:
                return
    words = value.get("text")
    if isinstance(words, str) and words and ("generation_info" in value or value.get("type") in _TEXTS):
        found.append(_plain(words, role))


_TEXTS = ("text", "output_text", "input_text", "Generation")


def _finish(value: dict[str, Any], messages: list[HistoryMessage]) -> None:
    """Chat Completions and LangChain say beside a message why it ended."""
    about = value.get("generation_info")
    why = (about if isinstance(about, dict) else value).get("finish_reason")
    if isinstance(why, str):
        for message in messages:
            message.finish = message.finish or why


def _message(value: dict[str, Any], role: HistoryRole, found: list[HistoryMessage]) -> None:
    message = HistoryMessage(role)
    place = len(found)
    found.append(message)
    content = value.get("parts") if value.get("content") is None else value["content"]
    if isinstance(content, str) and content[:2] == "[{":
        content = _blocks(content)
    if role == "tool":
        _tool_answer(value, content, message)
    elif isinstance(content, str):
        _add_text(message, content)
    else:
        for part in content[:MAX_ITEMS] if isinstance(content, list) else [content]:
            add_part(part, message, found)
    _add_calls(value, message)
    _tell_more(value, message)
    if len(found) > place + 1 and not (message.items or message.calls or message.reasoning):
        del found[place]  # only answers of tools were in it


def _blocks(content: str) -> Any:
    """Strands writes Bedrock's blocks as text; a text that only looks like it stays one."""
    read = json_of(content)
    if isinstance(read, list) and all(isinstance(one, dict) and one.keys() <= _BLOCKS for one in read):
        return read
    return content


_BLOCKS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "image", "document", "cachePoint"})


def _add_text(message: HistoryMessage, words: str) -> None:
    if words == HIDDEN:
        message.hidden = True
    elif words:
        message.items.append(words)


def _tool_answer(value: dict[str, Any], content: Any, message: HistoryMessage) -> None:
    """A tool's message: of one call, or, in OpenTelemetry's and Google's way, of those that its parts name."""
    message.answered_call = text(value.get("tool_call_id") or value.get("call_id") or value.get("id"))
    rest: list[HistoryMessage] = []
    for part in content[:MAX_ITEMS] if isinstance(content, list) else ():
        add_part(part, message, rest)
    if rest:
        one = rest[0]
        message.items, message.answered_call = [*message.items, *one.items], one.answered_call or message.answered_call
    elif not isinstance(content, list):
        _add_text(message, blocks_text(content))
    message.hidden = message.hidden or ("content" not in value and "parts" not in value)


def _add_calls(value: dict[str, Any], message: HistoryMessage) -> None:
    calls = json_of(value.get("tool_calls"))
    for call in calls[:MAX_ITEMS] if isinstance(calls, list) else ():
        read = _call(call)
        if read is not None and all(read.id != one.id or not read.id for one in message.calls):
            message.calls.append(read)


def _call(value: Any) -> RequestedCall | None:
    """One call, of Chat Completions or of LangChain."""
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    arguments = inner.get("arguments", inner.get("args", inner.get("input")))
    return RequestedCall(text(value.get("id") or value.get("call_id")), text(inner.get("name")), arguments)


def _tell_more(value: dict[str, Any], message: HistoryMessage) -> None:
    finish = value.get("finish_reason") or value.get("stop_reason")
    if isinstance(finish, str):
        message.finish = finish
    thoughts = value.get("reasoning_content") or value.get("reasoning")
    if isinstance(thoughts, str) and thoughts and not message.reasoning:
        message.reasoning = thoughts
    if not (message.items or message.calls or message.reasoning or message.answered_call):
        message.hidden = message.hidden or ("content" not in value and "parts" not in value)
