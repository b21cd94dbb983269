"""The server's tools of a response: web search, the code interpreter, MCP servers.

An MCP server that a request names is asked once what it has, called with the request's own headers, and only with the
client's approval where it wants to be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

from agents.base import addresses, ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, InvalidRequest
from agents.base.forwarded_headers import validate_headers
from agents.loop import toolset
from agents.loop.protocols.tools import HostedTool, ListedTools, Tool
from agents.loop.provider_set import Providers
from agents.record.schemas.content import ToolDef
from agents.responses.schemas.tools import ApprovalFilter, CodeInterpreterTool, ToolNames, WebSearchTool
from agents.responses.schemas.tools import McpToolParam as AskedTool
from agents.tools.providers import code_interpreter as code
from agents.tools.providers import mcp
from agents.tools.providers import web_search as searching
from agents.tools.providers.mcp import McpClient, McpFault, McpTool, Server

WEB_SEARCH = "web_search"
FRESH_US = 300_000_000
"""How long a listing holds for the same server and the same headers."""
MAX_LISTINGS = 200
_listings: dict[bytes, tuple[int, Sequence[ToolDef]]] = {}


@dataclass(frozen=True, slots=True)
class McpSource:
    """A server of tools under its label."""

    label: str
    params: AskedTool
    server: Server
    mcp: McpClient
    provider_data: Mapping[str, Any]

    async def list_tools(self) -> ListedTools:
        """Raises AgentsError when the server does not say what it has."""
        tools = [tool for tool in await self._tools() if self._is_allowed(tool.name)]
        labelled = [
            HostedTool(
                McpTool(self.label, tool, self.server, self.mcp),
                "mcp",
                self.label,
                needs_approval=self._needs_approval(tool.name),
            )
            for tool in tools
        ]
        return ListedTools(labelled, [_tool_object(tool) for tool in tools])

    async def _tools(self) -> Sequence[ToolDef]:
        key, now = self._key(), ids.now_us()
        cached = _listings.get(key)
        if cached and now - cached[0] < FRESH_US:
            return cached[1]
        try:
            listing = await self.mcp.list(self.server, self.provider_data)
        except McpFault as fault:
            raise _failure(self.label, fault) from fault
        if len(_listings) >= MAX_LISTINGS:
            _listings.clear()
        _listings[key] = now, listing.tools
        return listing.tools

    def _key(self) -> bytes:
        headers = mcp.headers_for(self.server, self.provider_data)
        return blake2b(msgspec.json.encode([self.server.url, sorted(headers.items())])).digest()

    def _is_allowed(self, name: str) -> bool:
        allowed = self.params.allowed_tools
        names = allowed.tool_names if isinstance(allowed, ToolNames) else allowed
        return names is None or name in names

    def _needs_approval(self, name: str) -> bool:
        rule = self.params.require_approval
        if not isinstance(rule, ApprovalFilter):
            return rule == "always"
        if rule.never and name in (rule.never.tool_names or ()):
            return False
        return rule.always is not None and (rule.always.tool_names is None or name in rule.always.tool_names)


def _tool_object(tool: ToolDef) -> dict[str, Any]:
    annotations = (tool.metadata or {}).get(mcp.ANNOTATIONS)
    shown = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
    return {**shown, "annotations": annotations}


def _failure(label: str, fault: McpFault) -> AgentsError:
    """A server that does not list its tools: with the status that says whose fault it is."""
    message = f"The MCP server '{label}' did not say what tools it has: {fault.message}"
    refused = fault.status in (401, 403)
    return AgentsError(message, code="authentication_required" if refused else "mcp_list_tools_failed")


def mcp_source(providers: Providers, params: AskedTool, where: str, provider_data: Mapping[str, Any]) -> McpSource:
    """A server as a source of tools. Raises InvalidRequest for a URL or headers that cannot be."""
    url = params.server_url or ""
    try:
        addresses.check_syntax(url)
        headers = validate_headers(dict(params.headers or {}), f"{where}.headers")
        if params.authorization:
            headers |= validate_headers({"Authorization": f"Bearer {params.authorization}"}, f"{where}.authorization")
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {error.message}", param=error.param or where) from None
    return McpSource(
        params.server_label, params, Server(url, headers=headers), providers.part(McpClient), provider_data
    )


# ------------------------------------------------------------------------------------------ built-in tools


def web_search(providers: Providers, actor: Actor, params: WebSearchTool, where: str) -> HostedTool:
    """Raises InvalidRequest where this server has none."""
    return HostedTool(_group_tool(providers, actor, searching.GROUP, where), "web_search", name=WEB_SEARCH)


def code_interpreter(providers: Providers, actor: Actor, params: CodeInterpreterTool, where: str) -> HostedTool:
    """Raises InvalidRequest where this server has none."""
    return HostedTool(_group_tool(providers, actor, code.GROUP, where), "code_interpreter")


def _group_tool(providers: Providers, actor: Actor, name: str, where: str) -> Tool:
    group = toolset.find(providers, actor, name, "run")
    if group is None or not group.tools:
        raise InvalidRequest(f"{where}: this server has no {name}.", param=where, code="tool_unavailable")
    return group.tools[0]
