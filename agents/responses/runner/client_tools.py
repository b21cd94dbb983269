"""Offers the tools that a client runs to a model as functions, and tells which tools nobody here can run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base.errors import InvalidRequest
from agents.loop.protocols.tools import ClientForm, Grammar
from agents.record.schemas.content import ToolDef
from agents.record.schemas.events import ClientToolKind
from agents.responses.schemas.client_calls import DECLARATIONS, qualified_name
from agents.responses.schemas.tools import (
    VENDOR_TOOLS,
    ClientTool,
    CustomTool,
    FunctionParam,
    NamespaceTool,
    OtherTool,
    ToolSearch,
)

_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(slots=True)
class ClientTools:
    """The tools of a client, as functions. ``forms`` say, by the function's name, how the client knows those that it
    does not know as functions; ``left_out`` are the types of tools that a model is not offered."""

    definitions: list[ToolDef] = field(default_factory=list)
    forms: dict[str, ClientForm] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def names(self, kind: str, name: str | None, namespace: str | None) -> list[str]:
        """Return the names of the functions that a choice among the tools of a request means."""
        if kind in ("function", "custom"):
            qualified = qualified_name(name or "", namespace)
            is_custom = kind == "custom"
            return [
                tool.name
                for tool in self.definitions
                if tool.name == qualified and (self._kind(tool) == "custom") == is_custom
            ]
        return [tool.name for tool in self.definitions if self._kind(tool) == kind]

    def _kind(self, tool: ToolDef) -> ClientToolKind | None:
        return self.forms[tool.name].kind if tool.name in self.forms else None

    def add(self, definition: ToolDef, form: ClientForm | None = None) -> None:
        self.definitions.append(definition)
        if form is not None:
            self.forms[definition.name] = form


def client_tools(tools: Sequence[Any]) -> ClientTools:
    """Return the client's tools of a request. Raises InvalidRequest where two have one name."""
    found = ClientTools()
    for tool in tools:
        _add(found, tool)
    names: set[str] = set()
    for definition in found.definitions:
        if definition.name in names:
            raise InvalidRequest(f"tools: there are two tools named '{definition.name}'.", param="tools")
        names.add(definition.name)
    return found


def _add(found: ClientTools, tool: Any) -> None:
    match tool:
        case FunctionParam():
            found.add(_function(tool))
        case CustomTool():
            found.add(_custom(tool), ClientForm("custom", grammar=_grammar(tool)))
        case NamespaceTool():
            for definition, member in _named(tool):
                is_custom = isinstance(member, CustomTool)
                form = ClientForm("custom" if is_custom else None, tool.name, _grammar(member))
                found.add(definition, form)
        case ClientTool(is_hosted=True):
            found.left_out.append(f"{tool.type} in a container")
        case ClientTool():
            description, schema = DECLARATIONS[tool.type]
            found.add(ToolDef(name=tool.type, description=description, input_schema=schema), ClientForm(tool.type))
        case ToolSearch(execution="client"):
            description, schema = DECLARATIONS["tool_search"]
            definition = ToolDef(
                name="tool_search",
                description=tool.description or description,
                input_schema=tool.parameters or schema,
            )
            found.add(definition, ClientForm("tool_search"))
        case OtherTool(name=str(name)) if tool.type not in VENDOR_TOOLS:
            schema = tool.parameters or _NO_ARGUMENTS
            found.add(ToolDef(name=name, description=tool.description, input_schema=schema))
        case OtherTool():
            found.left_out.append(tool.type)


def _named(namespace: NamespaceTool) -> Iterator[tuple[ToolDef, FunctionParam | CustomTool]]:
    """Yield the tools of a namespace, each as a function with the namespace in its name and in what is said of it."""
    for tool in namespace.tools:
        definition = _function(tool) if isinstance(tool, FunctionParam) else _custom(tool)
        description = "\n\n".join(filter(None, (definition.description, namespace.description)))
        changes = {"name": qualified_name(tool.name, namespace.name), "description": description or None}
        yield definition.model_copy(update=changes), tool


def _function(tool: FunctionParam) -> ToolDef:
    schema = tool.parameters or _NO_ARGUMENTS
    return ToolDef(name=tool.name, description=tool.description, input_schema=schema, strict=tool.strict)


def _grammar(tool: FunctionParam | CustomTool) -> Grammar | None:
    if not isinstance(tool, CustomTool) or not tool.format.syntax or not tool.format.definition:
        return None
    return Grammar(tool.format.syntax, tool.format.definition) if tool.format.type == "grammar" else None


def _custom(tool: CustomTool) -> ToolDef:
    """Return a function with one text. A grammar is told: chat completions have none, and only some endpoints take one
    where the tool has to be called."""
    rule = "The text that the tool is given, as it is."
    if tool.format.type == "grammar":
        rule += f" It must match this grammar ({tool.format.syntax}):\n\n{tool.format.definition}"
    text = {"type": "string", "description": rule}
    schema = {"type": "object", "properties": {"input": text}, "required": ["input"], "additionalProperties": False}
    return ToolDef(name=tool.name, description=tool.description, input_schema=schema)
