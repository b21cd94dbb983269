"""Resolves the tools of a response: the client's functions, and OpenAI's hosted tools that this server has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop.protocols.tools import ClientForm, HostedTool, Tool, ToolSource
from agents.loop.provider_set import Providers
from agents.record.schemas.content import ToolConfig, ToolDef
from agents.responses.runner.client_tools import ClientTools, client_tools
from agents.responses.runner.extensions import extensions
from agents.responses.runner.requests import ResponseRequest
from agents.responses.schemas.input_items import AdditionalToolsItem, ClientOutputItem
from agents.responses.schemas.requests import CreateResponse
from agents.responses.schemas.tools import (
    AllowedTools,
    ChosenTool,
    CodeInterpreterTool,
    FileSearchTool,
    McpToolParam,
    ResponseTool,
    WebSearchTool,
    tools_of,
)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that a model is offered, and the choice among them. ``forms`` say how the client knows its tools,
    ``left_out`` are those that nobody here can run."""

    client: Sequence[ToolDef]
    forms: Mapping[str, ClientForm]
    left_out: Sequence[str]
    server: dict[str, Tool]
    sources: Sequence[ToolSource]
    config: ToolConfig


def offered_tools(providers: Providers, request: ResponseRequest) -> OfferedTools:
    """Return the tools of a request. Raises InvalidRequest for an unknown or a duplicate tool."""
    tools = _all_tools(request.body)
    found = _FoundTools(client_tools(tools))
    for position, tool in enumerate(tools):
        found.add_hosted(providers, request, tool, f"tools.{position}")
    for definition in found.client.definitions:
        if definition.name in found.server:
            raise InvalidRequest(f"tools: there are two tools named '{definition.name}'.", param="tools")
    known = set(map(_identity, tools))
    for tool in request.earlier_tools:
        if _identity(tool) not in known:
            known.add(_identity(tool))
            _add_earlier(providers, request, found, tool)
    return _chosen(request.body, found.client, found.server, found.sources)


@dataclass(frozen=True, slots=True)
class _FoundTools:
    """The tools of a request: those of its client, those that this server runs, by their names, and servers with tools
    by their labels."""

    client: ClientTools
    server: dict[str, Tool] = field(default_factory=dict)
    sources: dict[str, ToolSource] = field(default_factory=dict)

    def add_hosted(self, providers: Providers, request: ResponseRequest, tool: ResponseTool, where: str) -> None:
        """Add a tool that is not the client's. Raises InvalidRequest."""
        if isinstance(tool, McpToolParam):
            if tool.server_label in self.sources:
                raise InvalidRequest(f"tools: there are two servers '{tool.server_label}'.", param="tools")
            self.sources[tool.server_label] = extensions.mcp(providers, tool, where, request.provider_data)
        elif isinstance(tool, WebSearchTool | FileSearchTool | CodeInterpreterTool):
            server_tool = _server_tool(providers, request.actor, tool, where)
            if server_tool.definition.name in self.server:
                raise InvalidRequest(f"tools: {tool.type} is there twice.", param="tools")
            self.server[server_tool.definition.name] = server_tool

    @property
    def names(self) -> set[str]:
        return {definition.name for definition in self.client.definitions} | self.server.keys()


def _add_earlier(providers: Providers, request: ResponseRequest, found: _FoundTools, tool: ResponseTool) -> None:
    """Add a tool that an earlier item brought. A client cannot take back an item: a tool that another has taken the
    name of is not offered any more, and one that is not to be had any more is left out with a note."""
    try:
        added = _FoundTools(client_tools([tool]))
        added.add_hosted(providers, request, tool, "input")
    except (InvalidRequest, NotFound):
        found.client.left_out.append(tool.type)
        return
    if not added.names & found.names:
        found.client.definitions.extend(added.client.definitions)
        found.client.forms.update(added.client.forms)
        found.client.left_out.extend(added.client.left_out)
        found.server.update(added.server)
        found.sources.update(added.sources)


def _all_tools(body: CreateResponse) -> list[ResponseTool]:
    """Return the tools of a request, and those that items of its input add; a client that found a tool in a search may
    offer it from then on."""
    tools = list(body.tools)
    known = set(map(_identity, tools))
    for item in body.input if isinstance(body.input, list) else ():
        if isinstance(item, AdditionalToolsItem | ClientOutputItem) and item.tools:
            for tool in tools_of(item.tools):
                if (identity := _identity(tool)) not in known:
                    known.add(identity)
                    tools.append(tool)
    return tools


def _identity(tool: ResponseTool) -> tuple[str, str | None]:
    kind = "web_search" if isinstance(tool, WebSearchTool) else tool.type
    return kind, getattr(tool, "name", None) or getattr(tool, "server_label", None)


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


# --------------------------------------------------------------------------------------------- choice


def _chosen(
    body: CreateResponse, found: ClientTools, server: dict[str, Tool], sources: dict[str, ToolSource]
) -> OfferedTools:
    choice, client = body.tool_choice, found.definitions
    if isinstance(choice, AllowedTools):
        names = {_name(chosen, found, server, sources) for chosen in choice.tools}
        labels = {chosen.server_label for chosen in choice.tools if chosen.type == "mcp"}
        client = [tool for tool in client if tool.name in names]
        server = {name: tool for name, tool in server.items() if name in names}
        sources = {label: source for label, source in sources.items() if label in labels}
        choice = choice.mode
    name = _name(choice, found, server, sources) if isinstance(choice, ChosenTool) else choice
    if name == "required" and not (client or server or sources):
        raise InvalidRequest("tool_choice: 'required' needs tools.", param="tool_choice")
    config = ToolConfig(tool_choice=name)
    return OfferedTools(client, found.forms, found.left_out, server, list(sources.values()), config)


def _name(choice: ChosenTool, client: ClientTools, server: dict[str, Tool], sources: dict[str, ToolSource]) -> str:
    """Return the model's name of a chosen tool. The tools of an MCP server are not known yet: without a name
    any of its tools may be called."""
    if choice.type == "mcp" and choice.server_label in sources:
        return choice.name or "required"
    names = client.names(choice.type, choice.name, choice.namespace)
    kind = "web_search" if choice.type.startswith("web_search") else choice.type
    names += [
        name
        for name, tool in server.items()
        if isinstance(tool, HostedTool)
        and tool.kind == kind
        and choice.server_label in (None, tool.label)
        and choice.name in (None, name)
    ]
    if not names:
        name = f" '{given[:200]}'" if (given := choice.name or choice.server_label) else ""
        raise InvalidRequest(f"tool_choice: there is no tool {choice.type[:200]}{name}.", param="tool_choice")
    return names[0]
