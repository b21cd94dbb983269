"""Tools that are Python functions of the operator's own, named in the settings.

The signature is the schema, the docstring the description (``:param name: …`` for each argument). A
parameter annotated as `ToolContext` is given whose run it is, and no model sees it. A plain function
runs in a thread of its own; a coroutine function runs on the loop and must not hold it up.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import to_json

from agents.loop.protocols.tools import InDoubtRule, Repeat, ServerToolGroup, ToolContext, ToolResult, failure
from agents.record.schemas.content import ImageItem, TextItem, ToolDef

GROUP, PROVIDER = "functions", "function"
MAX_THREADS = 64
"""Functions that run at once; those that never end count too."""

_PARAM = re.compile(r"^\s*:param\s+(?:\S+\s+)?(\w+):\s*(.*(?:\n(?!\s*:)\s*\S.*)*)", re.MULTILINE)
_FIELD = re.compile(r"^\s*:\w+", re.MULTILINE)
_threads = threading.Semaphore(MAX_THREADS)


class FunctionError(ValueError):
    """A function that cannot be a tool; the message says which and why."""


@dataclass(frozen=True)
class FunctionTool:
    """A function as a tool; ``arguments`` is the model of what it takes. What a repeated call does, a function says by
    an attribute of its own: ``function.repeat = "read"``; and ``function.in_doubt = "done"`` what is done about a call
    that may not be repeated and whose process was lost."""

    function: Callable[..., Any]
    definition: ToolDef
    arguments: type[BaseModel]
    context_name: str
    group: str = GROUP
    repeat: Repeat = "write"
    in_doubt: InDoubtRule = "wait"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        try:
            validated = self.arguments.model_validate(arguments)
        except ValidationError as error:
            return failure(_argument_error(self.definition.name, error))
        values = {
            name: getattr(validated, field) for field, name in self._fields() if field in validated.model_fields_set
        }
        if self.context_name:
            values[self.context_name] = context
        try:
            return _result(await self._run(values))
        except Exception as error:  # noqa: BLE001 - a mistake of somebody's function is an answer
            return failure(f"{type(error).__name__}: {error}"[:2000])

    def _fields(self) -> list[tuple[str, str]]:
        return [(field, info.alias or field) for field, info in self.arguments.model_fields.items()]

    async def _run(self, values: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**values)
        return await _in_thread(lambda: self.function(**values))


def load(paths: Mapping[str, Sequence[str]]) -> list[ServerToolGroup]:
    """Groups of tools from ``{group: ["package.module:function"]}``. Raises FunctionError."""
    return [
        ServerToolGroup(name, PROVIDER, [tool(_imported(path), group=name) for path in functions])
        for name, functions in paths.items()
    ]


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
    return function  # type: ignore[no-any-return]  # as far as can be seen


def tool(function: Callable[..., Any], group: str = GROUP) -> FunctionTool:
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
    arguments = _model(name, fields)
    definition = ToolDef(name=name, description=descriptions[""], input_schema=_schema(name, arguments))
    repeat: Repeat = _attribute(function, "repeat", "write", get_args(Repeat))
    in_doubt: InDoubtRule = _attribute(function, "in_doubt", "wait", get_args(InDoubtRule))
    return FunctionTool(function, definition, arguments, context, group, repeat, in_doubt)


def _attribute(function: Callable[..., Any], name: str, default: str, choices: Sequence[str]) -> Any:
    """Read what a function says of itself. Raises FunctionError."""
    value = getattr(function, name, default)
    if value not in choices:
        raise FunctionError(f"{function.__name__}.{name} is {value!r}: it must be one of {', '.join(choices)}")
    return value


def _model(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return create_model(name, __config__=config, **fields)
    except Exception as error:
        # an annotation is the operator's own code: whatever it raises stops the start, by the function's name
        raise FunctionError(f"{name}: no schema can be made of its signature: {error}") from error


def _schema(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = arguments.model_json_schema()
    except Exception as error:
        # an annotation is the operator's own code: whatever it raises stops the start, by the function's name
        raise FunctionError(f"{name}: no schema can be made of its signature: {error}") from error
    for entry in schema.get("properties", {}).values():
        entry.pop("title", None)
    return {"type": "object", "properties": {}, **{key: value for key, value in schema.items() if key != "title"}}


def _descriptions(doc: str) -> dict[str, str]:
    """What a docstring says: of the function under "", of each parameter under its name."""
    cut = _FIELD.search(doc)
    description = doc[: cut.start()] if cut else doc
    return {"": description.strip(), **{name: " ".join(text.split()) for name, text in _PARAM.findall(doc)}}


def _argument_error(name: str, error: ValidationError) -> str:
    parts = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors(include_url=False)[:5]]
    return f"{name} was not called: {'; '.join(parts)}"[:2000]


def _result(value: Any) -> ToolResult:
    """What a function returned as an answer: text and content as they are, all else as JSON."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str | TextItem | ImageItem):
        return ToolResult(content=value)
    if isinstance(value, list) and value and all(isinstance(part, TextItem | ImageItem) for part in value):
        return ToolResult(content=value)
    return ToolResult(content=to_json(value, fallback=str, inf_nan_mode="strings").decode())


async def _in_thread(work: Callable[[], Any]) -> Any:
    """Run ``work`` in a thread of its own: one that never ends is left behind, and neither a pool nor
    the server's stop waits for it."""
    slots = _threads
    if not slots.acquire(blocking=False):
        raise RuntimeError(f"{MAX_THREADS} functions are running already")
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    threading.Thread(target=_work, args=(work, loop, future, slots), name="tool", daemon=True).start()
    return await future


def _work(
    work: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], slots: threading.Semaphore
) -> None:
    value, error = None, None
    try:
        value = work()
    except BaseException as raised:  # noqa: BLE001 - handed to the caller; sys.exit() in a tool ends only the tool
        error = raised if isinstance(raised, Exception) else RuntimeError(f"{type(raised).__name__}: {raised}")
    finally:
        slots.release()
    if not loop.is_closed():
        loop.call_soon_threadsafe(_settle, future, value, error)


def _settle(future: asyncio.Future[Any], value: Any, error: Exception | None) -> None:
    if future.done():
        return  # nobody waits any more
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):  # which no future takes
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    else:
        future.set_exception(error)
