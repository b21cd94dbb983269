"""The server's tools that an agent names in the words of OpenAI's Agents API: web search, MCP servers by their URLs.

The API has no rule for approvals. A call of an MCP tool has to be approved where its server says of the tool that it
may destroy something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.base.access import Actor
from agents.base.store import sealed
from agents.loop.extensions import HostedTools
from agents.loop.protocols.tools import HostedTool, ListedTools
from agents.loop.provider_set import Providers
from agents.record.schemas.agents import HostedToolConfig, McpServer
from agents.responses.schemas.tools import McpToolParam, WebSearchTool
from agents.tools.providers import mcp
from agents.tools.runner import response_tools


@dataclass(frozen=True, slots=True)
class AgentSource:
    """An MCP server of an agent: those of its tools that may destroy something need approval."""

    source: response_tools.McpSource

    @property
    def label(self) -> str:
        return self.source.label

    async def list_tools(self) -> ListedTools:
        """Raises AgentsError when the server does not say what it has."""
        listed = await self.source.list_tools()
        return replace(listed, tools=[_with_approval(tool) for tool in listed.tools])


def _with_approval(tool: HostedTool) -> HostedTool:
    annotations = (tool.definition.metadata or {}).get(mcp.ANNOTATIONS) or {}
    destroys = bool(annotations.get("destructiveHint")) and not annotations.get("readOnlyHint")
    return replace(tool, needs_approval=destroys)


def hosted_tools(providers: Providers, actor: Actor, tools: Sequence[HostedToolConfig]) -> HostedTools:
    """Return the tools of an agent. Raises InvalidRequest where this server has none of them."""
    found, sources = {}, []
    for position, tool in enumerate(tools):
        where = f"tools[{position}]"
        if isinstance(tool, McpServer):
            sources.append(_source(providers, tool, where))
        elif tool.mode != "disabled":
            search = response_tools.web_search(providers, actor, WebSearchTool(type="web_search"), where)
            found[search.definition.name] = search
    return HostedTools(found, sources)


def _source(providers: Providers, server: McpServer, where: str) -> AgentSource:
    params = McpToolParam(
        type="mcp",
        server_label=server.server_label,
        server_url=server.server_url,
        headers=sealed.unseal(server.server_url, server.sealed_headers) or None,
        allowed_tools=server.allowed_tools,
        require_approval="never",
    )
    return AgentSource(response_tools.mcp_source(providers, params, where, {}))
