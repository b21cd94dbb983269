"""MCP servers without which a session may not begin: they are asked for their tools before it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agents.base.access import Actor
from agents.base.errors import AgentsError, FailedDependency
from agents.loop.current_service import service
from agents.loop.extensions import extensions
from agents.loop.protocols.tools import ToolSource
from agents.openai_agents.runner.configs import server_of
from agents.openai_agents.runner.sessions import named_agent
from agents.openai_agents.schemas.agents import AgentMcpServer
from agents.openai_agents.schemas.sessions import CreateAgentSession
from agents.record.schemas.agents import AgentConfig, McpServer

Required = Sequence[tuple[str, ToolSource]]
"""What has to answer, each with the field of the request that names it."""


def of_session(actor: Actor, body: CreateAgentSession) -> Required:
    """Return the servers that a new session requires. Raises InvalidRequest, NotFound."""
    if body.agent is not None and "tools" in body.agent.model_fields_set:
        named = [
            (f"agent.tools[{position}]", server_of(tool, f"agent.tools[{position}]"))
            for position, tool in enumerate(body.agent.tools or ())
            if isinstance(tool, AgentMcpServer) and tool.required
        ]
    elif body.agent_id is not None:
        return of_config(actor, named_agent(actor, body.agent_id).config, "agent_id")
    else:
        return ()
    return [(field, _source(actor, server)) for field, server in named]


def of_config(actor: Actor, config: AgentConfig, field: str) -> Required:
    """Return the servers that an agent requires, which a request names by ``field``. Raises InvalidRequest."""
    tools = config.openai.tools if config.openai else ()
    return [(field, _source(actor, tool)) for tool in tools if isinstance(tool, McpServer) and tool.required]


def _source(actor: Actor, server: McpServer) -> ToolSource:
    [source] = extensions.hosted_tools(service().providers, actor, [server]).sources
    return source


async def check(required: Required) -> None:
    """Ask all of them for their tools; what they say holds for the turn that begins. Raises FailedDependency."""
    listings = await asyncio.gather(*(source.list_tools() for _, source in required), return_exceptions=True)
    for (field, _), listing in zip(required, listings, strict=True):
        if isinstance(listing, AgentsError):
            raise FailedDependency(f"{field}: {listing.message}", code="mcp_server_startup_failed", param=field)
        if isinstance(listing, BaseException):
            raise listing
