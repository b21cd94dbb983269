"""Answering a tool call in place of the client: the call's arguments as a form, and what the form
says as the tool's answer. Knows no request and no tables.

A person approves the call, approves it with other arguments, refuses it, or writes what the tool
gives back. The first three are told to the model as JSON: ``{"approved": true}``,
``{"approved": true, "arguments": {…}}``, ``{"approved": false, "reason": "…"}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import ToolCall, ToolDef
from agents.record.schemas.items import tool_definition

FIELDS = 40
"""Arguments that get a field of their own; a call of more is answered as text."""
Kind = Literal["text", "number", "choice", "truth", "json"]


@dataclass(frozen=True, slots=True)
class Field:
    """One argument. ``value`` is as written in its field: text as it is, anything else as JSON."""

    name: str
    kind: Kind
    value: str
    about: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()


def schema_of(tools: list[ToolDef], name: str) -> dict[str, Any]:
    """The JSON schema of a tool's arguments; empty when it is not among these."""
    for tool in tools:
        if tool.name == name:
            found: dict[str, Any] = tool_definition(tool)["function"]["parameters"]
            return found
    return {}


def fields(arguments: Any, schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The arguments of a call as fields, in the order of the schema, then those it does not know.
    Nothing where they cannot be edited one by one."""
    properties = schema.get("properties")
    known: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
    if not isinstance(arguments, dict):
        return ()
    names = list(dict.fromkeys([*known, *arguments]))
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) and all(isinstance(one, str) for one in required) else set()
    if len(names) > FIELDS:
        return ()
    return tuple(_field(name, known.get(name), arguments.get(name), name in needed) for name in names)


def _field(name: str, schema: Any, value: Any, required: bool) -> Field:
    rule = schema if isinstance(schema, dict) else {}
    kind = _kind(rule, value)
    choices = tuple(map(_written, rule["enum"])) if kind == "choice" else ()
    about = rule.get("description")
    words = value if kind in {"text", "choice"} and isinstance(value, str) else _written(value)
    return Field(name, kind, words, about if isinstance(about, str) and about != name else "", required, choices)


def _kind(rule: Mapping[str, Any], value: Any) -> Kind:
    named = rule.get("type")
    if isinstance(rule.get("enum"), list) and all(isinstance(one, str) for one in rule["enum"]):
        return "choice"
    if named == "boolean" or isinstance(value, bool):
        return "truth"
    if named in {"number", "integer"} or isinstance(value, int | float):
        return "number"
    return "text" if named == "string" or isinstance(value, str) else "json"


def _written(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def content(call: ToolCall, tools: list[ToolDef], posted: Mapping[str, str]) -> str:
    """What a posted form says for a call. Its fields are ``decision:<call id>``, ``call:<call id>``
    (the answer), ``reason:<call id>`` and ``argument:<call id>:<name>``. Raises InvalidRequest."""
    match posted.get(f"decision:{call.call_id}", "answer"):
        case "approve":
            return _told(approved=True, **_edited(call, tools, posted))
        case "refuse":
            reason = posted.get(f"reason:{call.call_id}", "").strip()
            return _told(approved=False, **({"reason": reason} if reason else {}))
        case _:
            return posted.get(f"call:{call.call_id}", "")


def decision(call: ToolCall, posted: Mapping[str, str]) -> tuple[bool, str]:
    """Whether a call may be made that the client is asked about, and why not. Raises InvalidRequest when
    the form does not say."""
    match posted.get(f"decision:{call.call_id}"):
        case "approve":
            return True, ""
        case "refuse":
            return False, posted.get(f"reason:{call.call_id}", "").strip()
        case _:
            raise InvalidRequest(f"{call.tool_name}: say whether this call may be made.", param="decision")


def _told(**answer: Any) -> str:
    return msgspec.json.encode(answer).decode()


def _edited(call: ToolCall, tools: list[ToolDef], posted: Mapping[str, str]) -> dict[str, Any]:
    """The arguments, if the form changed any."""
    found = fields(call.arguments, schema_of(tools, call.tool_name))
    assert isinstance(call.arguments, dict) or not found  # fields come from an object
    before = call.arguments if isinstance(call.arguments, dict) else {}
    arguments = {field.name: _read(field, posted.get(f"argument:{call.call_id}:{field.name}")) for field in found}
    after = {name: value for name, value in arguments.items() if value is not None or name in before}
    return {"arguments": after} if found and after != before else {}


def _read(field: Field, written: str | None) -> Any:
    """A field's value. One that was not sent keeps what the model wrote."""
    words = field.value if written is None else written
    if field.kind in {"text", "choice"}:
        return words.replace("\r\n", "\n") if words or field.value or field.required else None
    if not words.strip():
        return None
    try:
        value = msgspec.json.decode(words)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field.name}: this is no JSON value: {words[:80]}", param=field.name) from error
    if field.kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InvalidRequest(f"{field.name}: this is no number: {words[:80]}", param=field.name)
    return value
