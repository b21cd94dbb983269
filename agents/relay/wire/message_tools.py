"""The tools of Anthropic's Messages API as functions.

Of the tools that Anthropic has defined, the client runs some itself: its models know how they are called, others are
told. The others run on Anthropic's servers, or are of use to its models alone: they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import ToolDef
from agents.relay.schemas.messages import ForcedTool, MessageTool, MessageToolChoice, OfferedTool, VendorTool


def _arguments(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_LINES = {"type": "array", "items": {"type": "integer"}, "description": "First and last line of a view; -1 is the end."}
_FILE_ARGUMENTS: dict[str, Any] = {
    "path": _texts("The file or folder."),
    "file_text": _texts("What a created file holds."),
    "old_str": _texts("The text to replace, which must stand in the file once."),
    "new_str": _texts("The text in its place."),
    "insert_line": {"type": "integer", "description": "The line after which text is inserted; 0 is the beginning."},
    "insert_text": _texts("The text to insert."),
    "view_range": _LINES,
}


def _commands(*names: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(names)}


CLIENTS_OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "bash_": (
        "Run a command in the client's shell, which keeps its state from call to call.",
        _arguments(
            (),
            command=_texts("The command."),
            restart={"type": "boolean", "description": "Begin with a new shell instead."},
        ),
    ),
    "text_editor_": (
        "View, create and edit files of the client.",
        _arguments(
            ("command", "path"), command=_commands("view", "create", "str_replace", "insert"), **_FILE_ARGUMENTS
        ),
    ),
    "memory_": (
        "Keep notes for later in files of the client below /memories; look there first.",
        _arguments(
            ("command",),
            command=_commands("view", "create", "str_replace", "insert", "delete", "rename"),
            **_FILE_ARGUMENTS,
            old_path=_texts("The file or folder to rename."),
            new_path=_texts("Its new path."),
        ),
    ),
}
"""What the client runs, by the beginning of the type: a description, and the schema of its arguments."""


@dataclass(slots=True)
class MessageTools:
    """The tools of a request as functions, the choice among them as the inference protocol has it, and the types of
    those that are left out."""

    definitions: list[ToolDef] = field(default_factory=list)
    choice: str = "auto"
    left_out: list[str] = field(default_factory=list)


def message_tools(tools: Sequence[OfferedTool], choice: MessageToolChoice | None) -> MessageTools:
    """Return the tools of a request. Raises InvalidRequest for two of one name, and for a choice of one that is not
    offered."""
    found = MessageTools()
    for tool in tools:
        definition = _definition(tool)
        if definition is not None:
            found.definitions.append(definition)
        elif isinstance(tool, VendorTool):
            found.left_out.append(tool.type)
    names: set[str] = set()
    for definition in found.definitions:
        if definition.name in names:
            raise InvalidRequest(f"tools: there are two tools named '{definition.name}'.", param="tools")
        names.add(definition.name)
    found.choice = _choice(choice, names)
    return found


def _definition(tool: OfferedTool) -> ToolDef | None:
    if isinstance(tool, MessageTool):
        return ToolDef(name=tool.name, description=tool.description, input_schema=tool.input_schema, strict=tool.strict)
    for beginning, (description, schema) in CLIENTS_OWN.items():
        if tool.type.startswith(beginning) and tool.name:
            return ToolDef(name=tool.name, description=description, input_schema=schema)
    return None


def _choice(choice: MessageToolChoice | None, names: set[str]) -> str:
    if isinstance(choice, ForcedTool):
        if choice.name not in names:
            raise InvalidRequest(f"tool_choice: there is no tool '{choice.name}'.", param="tool_choice")
        return choice.name
    if choice is None or choice.type == "auto":
        return "auto"
    if choice.type == "none":
        return "none"
    if not names:
        raise InvalidRequest("tool_choice: 'any' needs tools.", param="tool_choice")
    return "required"
