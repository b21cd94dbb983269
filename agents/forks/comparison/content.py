"""What a step says, as texts by name: forgiving, for records from elsewhere are compared too."""

from __future__ import annotations

from collections.abc import Mapping
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
        found = msgspec.json.decode(encoded or b"{}")
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def texts_of(step: StepSnapshot, detail: JSON) -> dict[str, str]:
    """The texts of a step by name, those that are there."""
    found = {**_TEXTS[step.type](detail), "error": step.error.message if step.error else ""}
    return {name: text for name, text in found.items() if text}


def words_of(content: Any) -> str:
    """The words of a message's content; of a picture only that there is one."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(words_of(one) for one in content)
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"({content.get('type', 'object')})"
    return ""


def laid_out(text: str) -> str:
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


def _list(found: JSON, name: str) -> list[JSON]:
    items = found.get(name)
    return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []


def _inference(detail: JSON) -> dict[str, str]:
    message = detail.get("model_response")
    message = message if isinstance(message, dict) else {}
    return {
        "reasoning": str(detail.get("reasoning") or ""),
        "said": words_of(message.get("content")),
        "calls": "\n".join(f"{name}({arguments})" for name, arguments in calls_of(message)),
    }


def _tool(detail: JSON) -> dict[str, str]:
    return {
        "arguments": "\n".join(laid_out(arguments) for _, arguments in calls_of(detail)),
        "result": "\n".join(laid_out(words_of(one.get("content"))) for one in _list(detail, "tool_responses")),
    }


def _shield(detail: JSON) -> dict[str, str]:
    violation = detail.get("violation")
    told = violation if isinstance(violation, dict) else {}
    return {
        "shields": "\n".join(map(str, detail.get("shields") or ())),
        "violation": " ".join(str(told[name]) for name in ("violation_level", "user_message") if told.get(name)),
    }


def _memory(detail: JSON) -> dict[str, str]:
    return {"query": str(detail.get("query") or ""), "context": words_of(detail.get("inserted_context"))}


def _other(detail: JSON) -> dict[str, str]:
    data = detail.get("data") or {}
    return {"kind": str(detail.get("kind") or ""), "data": laid_out(msgspec.json.encode(data).decode())}


_TEXTS = {
    "inference": _inference,
    "tool_execution": _tool,
    "shield_call": _shield,
    "memory_retrieval": _memory,
    "other": _other,
}


def said(messages: bytes) -> str:
    """What a turn was asked, message by message."""
    try:
        found = msgspec.json.decode(messages)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return "\n\n".join(words_of(one.get("content")) for one in found if isinstance(one, dict))


def answered(message: bytes | None) -> str:
    return words_of(_object(message).get("content"))


def last_of_user(messages: bytes) -> str:
    """What the user said last."""
    try:
        found = msgspec.json.decode(messages)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    words = [_text_of(one.get("content")) for one in found if isinstance(one, dict) and one.get("role") == "user"]
    return words[-1] if words else ""


def _text_of(content: Any) -> str:
    """The words alone of a content that may have pictures."""
    if isinstance(content, list):
        return "\n".join(str(one["text"]) for one in content if isinstance(one, dict) and "text" in one)
    return words_of(content)
