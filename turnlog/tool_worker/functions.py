"""Functions as tools: the signature is the schema, the docstring the description (``:param name: …`` for each
argument). A parameter annotated as `ToolContext` is given whose run it is, and no model sees it.
"""

from __future__ import annotations

import importlib
import inspect
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from turnlog.tools import ToolContext

REPEATS = ("read", "idempotent", "write")
IN_DOUBT = ("wait", "done", "not_done")

_PARAM = re.compile(r"^\s*:param\s+(?:\S+\s+)?(\w+):\s*(.*(?:\n(?!\s*:)\s*\S.*)*)", re.MULTILINE)
_FIELD = re.compile(r"^\s*:\w+", re.MULTILINE)


class FunctionError(ValueError):
    """A function that cannot be a tool; the message says which and why."""


class ArgumentError(ValueError):
    """Arguments that a function does not take; the message says which and why."""


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function as a tool. ``definition`` is what the server is told of it, ``arguments`` the model of what it
    takes, ``context_name`` the parameter that is given a `ToolContext`, if any."""

    function: Callable[..., Any]
    definition: Mapping[str, Any]
    arguments: type[BaseModel]
    context_name: str

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def is_coroutine(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def call(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Call the function; what it returns is a coroutine for a coroutine function. Raises ArgumentError, and
        whatever the function raises."""
        try:
            validated = self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise ArgumentError(_argument_error(self.name, error)) from error
        fields = [(field, info.alias or field) for field, info in self.arguments.model_fields.items()]
        values = {name: getattr(validated, field) for field, name in fields if field in validated.model_fields_set}
        if self.context_name:
            values[self.context_name] = context
        return self.function(**values)


def load(paths: Mapping[str, Sequence[str]]) -> list[FunctionTool]:
    """The functions of ``{group: ["package.module:function"]}``, in this order. Raises FunctionError."""
    return [_at(path, group) for group, functions in paths.items() for path in functions]


def _at(path: str, group: str) -> FunctionTool:
    try:
        return tool(_imported(path), group)
    except FunctionError:
        raise
    except Exception as error:
        # a module is the operator's own code: whatever it raises stops the start, by the function's path
        traceback.print_exc()
        raise FunctionError(f"{path!r}: {type(error).__name__}: {error}") from error


def _imported(path: str) -> Callable[..., Any]:
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise FunctionError(f"{path!r}: write package.module:function")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise FunctionError(f"{path!r}: {error}") from error
    if not callable(function):
        raise FunctionError(f"{path!r} is not a function")
    return function  # type: ignore[no-any-return]  # callable() tells nothing of its signature


def tool(function: Callable[..., Any], group: str) -> FunctionTool:
    """A function as a tool. Raises FunctionError where its signature is not one of named values."""
    name = function.__name__
    descriptions = _descriptions(inspect.getdoc(function) or "")
    context, fields = "", {}
    hints = get_type_hints(function, include_extras=True)
    for number, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise FunctionError(f"{name}: {parameter} cannot be named by a model")
        kind = hints.get(parameter.name, str)
        if kind is ToolContext:
            context = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        description = descriptions.get(parameter.name)
        # under a name of ours: a model has names of its own, and takes none with an underscore
        fields[f"argument_{number}"] = (kind, Field(default, alias=parameter.name, description=description))
    arguments, schema = _model(name, fields)
    definition = {
        "group": group,
        "name": name,
        "description": descriptions[""],
        "input_schema": schema,
        "repeat": _attribute(function, "repeat", "write", REPEATS),
        "in_doubt": _attribute(function, "in_doubt", "wait", IN_DOUBT),
    }
    return FunctionTool(function, definition, arguments, context)


def _attribute(function: Callable[..., Any], name: str, default: str, choices: Sequence[str]) -> str:
    """Read what a function says of itself. Raises FunctionError."""
    value = getattr(function, name, default)
    if value not in choices:
        raise FunctionError(f"{function.__name__}.{name} is {value!r}: it must be one of {', '.join(choices)}")
    return str(value)


def _model(name: str, fields: dict[str, Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    """The model of a function's arguments, and its schema."""
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        arguments = create_model(name, __config__=config, **fields)
        schema = arguments.model_json_schema()
    except Exception as error:
        # an annotation is the operator's own code: whatever it raises stops the start, by the function's name
        raise FunctionError(f"{name}: no schema can be made of its signature: {error}") from error
    for entry in schema.get("properties", {}).values():
        entry.pop("title", None)
    schema = {key: value for key, value in schema.items() if key != "title"}
    return arguments, {"type": "object", "properties": {}, **schema}


def _descriptions(doc: str) -> dict[str, str]:
    """What a docstring says: of the function under "", of each parameter under its name."""
    cut = _FIELD.search(doc)
    description = doc[: cut.start()] if cut else doc
    return {"": description.strip(), **{name: " ".join(text.split()) for name, text in _PARAM.findall(doc)}}


def _argument_error(name: str, error: ValidationError) -> str:
    parts = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors(include_url=False)[:5]]
    return f"{name} was not called: {'; '.join(parts)}"[:2000]
