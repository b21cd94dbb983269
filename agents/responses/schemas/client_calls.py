"""Calls of OpenAI's tools that the client runs, other than functions: what a model is told of each, and its items.

A model is offered each of them as a function. Its call comes back to the client as the item of that tool, and the item
becomes the call of the function again where a client sends it as input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.record.schemas.content import ContentItem, ImageData, ImageItem, TextItem, Url
from agents.record.schemas.events import ClientToolKind

JSON = dict[str, Any]
OUTPUT_KEY = "client_output"
"""Key in a tool response's metadata: the item with the client's output, of which a model is told only the text."""
SEPARATOR = "__"
"""Between a namespace and the name of one of its tools, in the name of the function that a model is offered."""


def qualified_name(name: str, namespace: str | None) -> str:
    """Return the name of the function that a model is offered for a tool."""
    return f"{namespace}{SEPARATOR}{name}" if namespace else name


def own_name(function: str, namespace: str | None) -> str:
    """Return the name that a tool has within its namespace."""
    return function.removeprefix(f"{namespace}{SEPARATOR}") if namespace else function


@dataclass(frozen=True, slots=True)
class CallForm:
    """What the items of a kind of call look like. ``fields`` returns the item's own fields for a call's arguments,
    which a model may have got wrong; ``arguments`` those arguments for an item that a client has sent; ``result``
    what a model is told of the client's answer; ``answer`` the answer's own fields where somebody gave it as a text,
    such as on a page."""

    item_type: str
    id_prefix: str
    fields: Callable[[JSON | str], JSON]
    arguments: Callable[[JSON], JSON]
    result: Callable[[JSON], str | list[ContentItem]]
    answer: Callable[[str], JSON] = lambda text: {"output": text}

    @property
    def output_type(self) -> str:
        return f"{self.item_type}_output" if self.item_type != "tool_search_call" else "tool_search_output"


# --------------------------------------------------------------------------------------------- values


def _object(value: Any) -> JSON:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _texts(value: Any) -> list[str]:
    """Return a command or a list of commands; a model may have written one as a text."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [_text(one) for one in values]


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ---------------------------------------------------------------------------------------------- kinds


def _custom_fields(arguments: JSON | str) -> JSON:
    """Return the text that the tool is given; whatever a model wrote that is no object with it is that text."""
    given = arguments.get("input") if isinstance(arguments, dict) and set(arguments) <= {"input"} else arguments
    return {"input": "" if given is None else _text(given)}


def _local_shell_fields(arguments: JSON | str) -> JSON:
    given = _object(arguments)
    env = {str(name): _text(value) for name, value in _object(given.get("env")).items()}
    directory, user = given.get("working_directory"), given.get("user")
    action = {
        "type": "exec",
        "command": _texts(given.get("command")),
        "env": env,
        "timeout_ms": _whole(given.get("timeout_ms")),
        "user": user if isinstance(user, str) else None,
        "working_directory": directory if isinstance(directory, str) else None,
    }
    return {"action": action}


def _shell_fields(arguments: JSON | str) -> JSON:
    given = _object(arguments)
    limits = {name: _whole(given.get(name)) for name in ("timeout_ms", "max_output_length")}
    return {"action": {"commands": _texts(given.get("commands")), **limits}, "environment": {"type": "local"}}


def _patch_fields(arguments: JSON | str) -> JSON:
    given = _object(arguments)
    kind = given.get("type")
    operation = {
        "type": kind if kind in ("create_file", "update_file", "delete_file") else "update_file",
        "path": _text(given.get("path", "")),
    }
    return {"operation": operation if kind == "delete_file" else {**operation, "diff": _text(given.get("diff", ""))}}


def _search_fields(arguments: JSON | str) -> JSON:
    return {"arguments": arguments, "execution": "client"}


def _action(item: JSON) -> JSON:
    """Return the arguments of an action: what it names besides its type."""
    action = _object(item.get("action"))
    return {name: value for name, value in action.items() if name != "type" and value not in (None, {})}


def _plain_result(item: JSON) -> str:
    return _text(item.get("output") or "")


def _shell_result(item: JSON) -> str:
    """Return what commands wrote, each with how it ended unless that was well."""
    output = item.get("output")
    if not isinstance(output, list):
        return _plain_result(item)
    return "\n\n".join(filter(None, (_command_result(_object(one)) for one in output)))


def _command_result(one: JSON) -> str:
    outcome = _object(one.get("outcome"))
    code = outcome.get("exit_code")
    end = "(timed out)" if outcome.get("type") == "timeout" else f"(exit code {code})" if code else ""
    return "\n".join(filter(None, (_text(one.get("stdout") or ""), _text(one.get("stderr") or ""), end)))


def _patch_result(item: JSON) -> str:
    return _plain_result(item) or ("The patch failed." if item.get("status") == "failed" else "The patch was applied.")


def _search_result(item: JSON) -> str:
    tools = item.get("tools")
    names = [name for tool in tools if (name := _object(tool).get("name"))] if isinstance(tools, list) else []
    return f"Tools that can be called now: {', '.join(map(str, names))}." if names else "No tools were found."


def _custom_result(item: JSON) -> str | list[ContentItem]:
    output = item.get("output")
    if not isinstance(output, list):
        return _plain_result(item)
    parts = [part for one in output if (part := _content(_object(one)))]
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], TextItem) else parts


def _content(part: JSON) -> ContentItem | None:
    if isinstance(text := part.get("text"), str):
        return TextItem(text=text)
    url = part.get("image_url")
    return ImageItem(image=ImageData(url=Url(uri=url))) if isinstance(url, str) and url else None


def _shell_answer(text: str) -> JSON:
    return {"output": [{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]}


def _search_answer(text: str) -> JSON:
    return {"execution": "client", "tools": []}


FORMS: Mapping[ClientToolKind, CallForm] = {
    "custom": CallForm(
        "custom_tool_call", "ctc", _custom_fields, lambda item: {"input": item.get("input")}, _custom_result
    ),
    "local_shell": CallForm("local_shell_call", "lsh", _local_shell_fields, _action, _plain_result),
    "shell": CallForm("shell_call", "sh", _shell_fields, _action, _shell_result, _shell_answer),
    "apply_patch": CallForm(
        "apply_patch_call", "apc", _patch_fields, lambda item: _object(item.get("operation")), _patch_result
    ),
    "tool_search": CallForm(
        "tool_search_call",
        "tsc",
        _search_fields,
        lambda item: _object(item.get("arguments")),
        _search_result,
        _search_answer,
    ),
}
KIND_OF_CALL: Mapping[str, ClientToolKind] = {form.item_type: kind for kind, form in FORMS.items()}
KIND_OF_OUTPUT: Mapping[str, ClientToolKind] = {form.output_type: kind for kind, form in FORMS.items()}


# ------------------------------------------------------------------------------------- for the model


def _schema(required: Sequence[str], **properties: JSON) -> JSON:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_STRING, _NUMBER = {"type": "string"}, {"type": "integer"}
_STRINGS = {"type": "array", "items": _STRING}
DECLARATIONS: Mapping[ClientToolKind, tuple[str, JSON]] = {
    "local_shell": (
        "Runs a command on the user's machine, and returns what it wrote.",
        _schema(
            ["command"],
            command={**_STRINGS, "description": "The program and its arguments, such as ['bash', '-lc', 'ls']."},
            working_directory=_STRING,
            timeout_ms=_NUMBER,
            env={"type": "object", "additionalProperties": _STRING},
        ),
    ),
    "shell": (
        "Runs commands in a shell of the user's machine, at the same time, and returns what each wrote.",
        _schema(["commands"], commands=_STRINGS, timeout_ms=_NUMBER, max_output_length=_NUMBER),
    ),
    "apply_patch": (
        "Creates, updates or deletes one file. A diff has lines that begin with '+', '-' or a space, in sections that"
        " begin with '@@'; that of a new file has only lines that begin with '+'.",
        _schema(
            ["type", "path"],
            type={"type": "string", "enum": ["create_file", "update_file", "delete_file"]},
            path=_STRING,
            diff=_STRING,
        ),
    ),
    "tool_search": (
        "Searches for more tools, which can be called afterwards.",
        _schema(["query"], query={**_STRING, "description": "What the tool should be able to do."}),
    ),
}
"""What a model is told of a tool that says nothing of itself: (description, schema of its arguments)."""
