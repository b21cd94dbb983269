"""What a step says, as texts by name: forgiving, for records from elsewhere are compared too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agents.record.schemas.turns import StepSnapshot

JSON = dict[str, Any]
Texts = Mapping[str, str]


def detail_of(step: StepSnapshot) -> JSON:
    """A step's detail; empty where there is none that can be read."""
    return _object(step.detail)


def _object(encoded: bytes | None) -> JSON:
    try:
        value = msgspec.json.decode(encoded or b"{}")
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def texts_of(step: StepSnapshot, detail: JSON) -> dict[str, str]:
    """The texts of a step by name, those that are there."""
    texts = {**_TEXTS.get(step.type, _any)(detail), "error": step.error.message if step.error else ""}
    return {name: text for name, text in texts.items() if text}


def content_text(content: Any) -> str:
    """The words of a message's content; of a picture only that there is one."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(content_text(part) for part in content)
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"({content.get('type', 'object')})"
    return ""


def pretty(text: str) -> str:
    """JSON, one value a line; other text as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return msgspec.json.format(text.encode(), indent=2).decode()
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return text


def calls_of(message: JSON) -> list[tuple[str, str]]:
    """Name and arguments of the calls that a message makes."""
    return [(str(call.get("tool_name", "")), _arguments(call)) for call in _list(message, "tool_calls")]


def _arguments(call: JSON) -> str:
    written = call.get("arguments_json")
    if isinstance(written, str):
        return written
    arguments = call.get("arguments", {})
    return arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def _list(parent: JSON, name: str) -> list[JSON]:
    items = parent.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _inference(detail: JSON) -> dict[str, str]:
    message = detail.get("model_response")
    message = message if isinstance(message, dict) else {}
    return {
        "reasoning": str(detail.get("reasoning") or ""),
        "said": content_text(message.get("content")),
        "calls": "\n".join(f"{name}({arguments})" for name, arguments in calls_of(message)),
    }


def _tool(detail: JSON) -> dict[str, str]:
    return {
        "arguments": "\n".join(pretty(arguments) for _, arguments in calls_of(detail)),
        "result": "\n".join(
            pretty(content_text(message.get("content"))) for message in _list(detail, "tool_responses")
        ),
    }


def _shield(detail: JSON) -> dict[str, str]:
    violation = detail.get("violation")
    fields = violation if isinstance(violation, dict) else {}
    return {
        "shields": "\n".join(map(str, detail.get("shields") or ())),
        "violation": " ".join(str(fields[name]) for name in ("violation_level", "user_message") if fields.get(name)),
    }


def _memory(detail: JSON) -> dict[str, str]:
    return {"query": str(detail.get("query") or ""), "context": content_text(detail.get("inserted_context"))}


def _other(detail: JSON) -> dict[str, str]:
    data = detail.get("data") or {}
    return {"kind": str(detail.get("kind") or ""), "data": pretty(msgspec.json.encode(data).decode())}


def _any(detail: JSON) -> dict[str, str]:
    return {"data": pretty(msgspec.json.encode(detail).decode())} if detail else {}


_TEXTS: Mapping[str, Callable[[JSON], dict[str, str]]] = {
    "inference": _inference,
    "tool_execution": _tool,
    "shield_call": _shield,
    "memory_retrieval": _memory,
    "other": _other,
}
"""By type of step; of others the detail as it is."""


def input_text(messages: bytes) -> str:
    """What a turn was asked, message by message."""
    try:
        decoded = msgspec.json.decode(messages)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return "\n\n".join(content_text(message.get("content")) for message in decoded if isinstance(message, dict))


def output_text(message: bytes | None) -> str:
    return content_text(_object(message).get("content"))


def last_user_text(messages: bytes) -> str:
    """What the user said last."""
    try:
        decoded = msgspec.json.decode(messages)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    texts = [
        _text_only(message.get("content"))
        for message in decoded
        if isinstance(message, dict) and message.get("role") == "user"
    ]
    return texts[-1] if texts else ""


def _text_only(content: Any) -> str:
    """The words alone of a content that may have pictures."""
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content_text(content)
