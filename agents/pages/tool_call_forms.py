"""The form with which a person answers a tool call in place of the client. Knows no request and no tables.

A person approves the call, approves it with other arguments, refuses it, or writes the tool's result. The
model receives the first three as JSON: ``{"approved": true}``, ``{"approved": true, "arguments": {…}}``,
``{"approved": false, "reason": "…"}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import ToolCall, ToolDef
from agents.record.schemas.items import tool_definition

MAX_FIELDS = 40
"""A call with more arguments has no form and is answered as text."""
Kind = Literal["text", "number", "choice", "truth", "json"]


@dataclass(frozen=True, slots=True)
class ArgumentField:
    """A form field for one argument. ``value`` is its text: strings as they are, anything else as JSON."""

    name: str
    kind: Kind
    value: str
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()


def schema_of(tools: list[ToolDef], name: str) -> dict[str, Any]:
    """The JSON schema of a tool's arguments; empty if the tool is not in the list."""
    for tool in tools:
        if tool.name == name:
            parameters: dict[str, Any] = tool_definition(tool)["function"]["parameters"]
            return parameters
    return {}


_APPROVAL = re.compile(r"approv|confirm|permi(t|ssion)|consent|authori[sz]|sign.?off", re.IGNORECASE)


def wants_approval(tools: list[ToolDef], name: str) -> bool:
    """Whether a tool asks for leave to do something, going by its name and description: there is no field for it."""
    described = [tool.description or "" for tool in tools if tool.name == name]
    return any(map(_APPROVAL.search, [name, *described]))


def read_approval(answers: list[str]) -> bool | None:
    """Whether the answer to a call approves it, in the words of `answer_content`; None where it says neither."""
    if len(answers) != 1 or not answers[0].startswith('{"approved":'):
        return None
    try:
        approved = msgspec.json.decode(answers[0], type=_Approval).approved
    except msgspec.MsgspecError:
        return None
    return approved


class _Approval(msgspec.Struct):
    approved: bool


def fields(arguments: Any, schema: Mapping[str, Any]) -> tuple[ArgumentField, ...]:
    """The arguments of a call as form fields: in the order of the schema, then any others. Empty if they cannot
    be edited one by one."""
    properties = schema.get("properties")
    schemas: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
    if not isinstance(arguments, dict):
        return ()
    names = list(dict.fromkeys([*schemas, *arguments]))
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) and all(isinstance(item, str) for item in required) else set()
    if len(names) > MAX_FIELDS:
        return ()
    return tuple(_field(name, schemas.get(name), arguments.get(name), name in needed) for name in names)


def _field(name: str, schema: Any, value: Any, required: bool) -> ArgumentField:
    rule = schema if isinstance(schema, dict) else {}
    kind = _kind(rule, value)
    choices = tuple(map(_as_text, rule["enum"])) if kind == "choice" else ()
    description = rule.get("description")
    text = value if kind in {"text", "choice"} and isinstance(value, str) else _as_text(value)
    return ArgumentField(
        name, kind, text, description if isinstance(description, str) and description != name else "", required, choices
    )


def _kind(rule: Mapping[str, Any], value: Any) -> Kind:
    named = rule.get("type")
    if isinstance(rule.get("enum"), list) and all(isinstance(item, str) for item in rule["enum"]):
        return "choice"
    if named == "boolean" or isinstance(value, bool):
        return "truth"
    if named in {"number", "integer"} or isinstance(value, int | float):
        return "number"
    return "text" if named == "string" or isinstance(value, str) else "json"


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def answer_content(call: ToolCall, tools: list[ToolDef], posted: Mapping[str, str]) -> str:
    """The tool's answer from a posted form. Its fields are ``decision:<call id>``, ``call:<call id>`` (the answer),
    ``reason:<call id>`` and ``argument:<call id>:<name>``. Raises InvalidRequest."""
    match posted.get(f"decision:{call.call_id}", "answer"):
        case "approve":
            return _answer_json(approved=True, **_edited_arguments(call, tools, posted))
        case "refuse":
            reason = posted.get(f"reason:{call.call_id}", "").strip()
            return _answer_json(approved=False, **({"reason": reason} if reason else {}))
        case _:
            return posted.get(f"call:{call.call_id}", "")


def read_decision(call: ToolCall, posted: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the posted form approves a call, and the reason if not. Raises InvalidRequest if the form does not
    say."""
    match posted.get(f"decision:{call.call_id}"):
        case "approve":
            return True, ""
        case "refuse":
            return False, posted.get(f"reason:{call.call_id}", "").strip()
        case _:
            raise InvalidRequest(f"{call.tool_name}: say whether this call may be made.", param="decision")


def _answer_json(**answer: Any) -> str:
    return msgspec.json.encode(answer).decode()


def _edited_arguments(call: ToolCall, tools: list[ToolDef], posted: Mapping[str, str]) -> dict[str, Any]:
    """The arguments, if the form has changed any."""
    argument_fields = fields(call.arguments, schema_of(tools, call.tool_name))
    assert isinstance(call.arguments, dict) or not argument_fields  # only an object has argument fields
    before = call.arguments if isinstance(call.arguments, dict) else {}
    arguments = {
        field.name: _read(field, posted.get(f"argument:{call.call_id}:{field.name}")) for field in argument_fields
    }
    after = {name: value for name, value in arguments.items() if value is not None or name in before}
    return {"arguments": after} if argument_fields and after != before else {}


def _read(field: ArgumentField, written: str | None) -> Any:
    """The value of a field; one that was not sent keeps the model's value."""
    text = field.value if written is None else written
    if field.kind in {"text", "choice"}:
        return text.replace("\r\n", "\n") if text or field.value or field.required else None
    if not text.strip():
        return None
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{field.name}: this is no JSON value: {text[:80]}", param=field.name) from error
    if field.kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InvalidRequest(f"{field.name}: this is no number: {text[:80]}", param=field.name)
    return value
