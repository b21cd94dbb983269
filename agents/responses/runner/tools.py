"""Resolves the tools of a response: the client's functions, and OpenAI's hosted tools that this server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop.protocols.tools import HostedTool, Tool, ToolSource
from agents.loop.provider_set import Providers
from agents.record.schemas.content import ToolConfig, ToolDef
from agents.responses.runner.extensions import extensions
from agents.responses.schemas.requests import CreateResponse
from agents.responses.schemas.tools import (
    AllowedTools,
    ChosenTool,
    CodeInterpreterTool,
    FileSearchTool,
    FunctionParam,
    McpToolParam,
    WebSearchTool,
)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that a model is offered, and the choice among them."""

    client: Sequence[ToolDef]
    server: dict[str, Tool]
    sources: Sequence[ToolSource]
    config: ToolConfig


def offered_tools(
    providers: Providers, actor: Actor, body: CreateResponse, provider_data: Mapping[str, Any]
) -> OfferedTools:
    """Return the tools of a request. Raises InvalidRequest for an unknown or a duplicate tool."""
    client = [_function(tool) for tool in body.tools if isinstance(tool, FunctionParam)]
    server: dict[str, Tool] = {}
    sources: dict[str, ToolSource] = {}
    for position, tool in enumerate(body.tools):
        if isinstance(tool, McpToolParam):
            if tool.server_label in sources:
                raise InvalidRequest(f"tools: there are two servers '{tool.server_label}'.", param="tools")
            sources[tool.server_label] = extensions.mcp(providers, tool, f"tools.{position}", provider_data)
        elif not isinstance(tool, FunctionParam):
            server_tool = _server_tool(providers, actor, tool, f"tools.{position}")
            if server_tool.definition.name in server:
                raise InvalidRequest(f"tools: {tool.type} is there twice.", param="tools")
            server[server_tool.definition.name] = server_tool
    _check_names(client, server)
    return _chosen(body, client, server, sources)


def _function(tool: FunctionParam) -> ToolDef:
    schema = tool.parameters or {"type": "object", "properties": {}}
    return ToolDef(name=tool.name, description=tool.description, input_schema=schema, strict=tool.strict)


def _server_tool(
    providers: Providers, actor: Actor, tool: WebSearchTool | FileSearchTool | CodeInterpreterTool, where: str
) -> Tool:
    match tool:
        case FileSearchTool():
            return extensions.file_search(providers, actor, tool, where)
        case WebSearchTool():
            return extensions.web_search(providers, actor, tool, where)
        case CodeInterpreterTool():
            return extensions.code_interpreter(providers, actor, tool, where)


def _check_names(client: Sequence[ToolDef], server: dict[str, Tool]) -> None:
    names = set(server)
    for tool in client:
        if tool.name in names:
            raise InvalidRequest(f"tools: there are two tools named '{tool.name}'.", param="tools")
        names.add(tool.name)


# --------------------------------------------------------------------------------------------- choice


def _chosen(
    body: CreateResponse, client: list[ToolDef], server: dict[str, Tool], sources: dict[str, ToolSource]
) -> OfferedTools:
    choice = body.tool_choice
    if isinstance(choice, AllowedTools):
        names = {_name(chosen, client, server, sources) for chosen in choice.tools}
        labels = {chosen.server_label for chosen in choice.tools if chosen.type == "mcp"}
        client = [tool for tool in client if tool.name in names]
        server = {name: tool for name, tool in server.items() if name in names}
        sources = {label: source for label, source in sources.items() if label in labels}
        choice = choice.mode
    name = _name(choice, client, server, sources) if isinstance(choice, ChosenTool) else choice
    if name == "required" and not (client or server or sources):
        raise InvalidRequest("tool_choice: 'required' needs tools.", param="tool_choice")
    return OfferedTools(client, server, list(sources.values()), ToolConfig(tool_choice=name))


def _name(
    choice: ChosenTool, client: Sequence[ToolDef], server: dict[str, Tool], sources: dict[str, ToolSource]
) -> str:
    """Return the model's name of a chosen tool. The tools of an MCP server are not known yet: without a name
    any of its tools may be called."""
    if choice.type == "mcp" and choice.server_label in sources:
        return choice.name or "required"
    if choice.type == "function":
        names = [tool.name for tool in client if tool.name == choice.name]
    else:
        kind = "web_search" if choice.type.startswith("web_search") else choice.type
        names = [
            name
            for name, tool in server.items()
            if isinstance(tool, HostedTool)
            and tool.kind == kind
            and choice.server_label in (None, tool.label)
            and choice.name in (None, name)
        ]
    if not names:
        message = f"tool_choice: there is no tool {choice.type} '{(choice.name or choice.server_label or '')[:200]}'."
        raise InvalidRequest(message, param="tool_choice")
    return names[0]
