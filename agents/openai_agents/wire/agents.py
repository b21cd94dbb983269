"""Encodes agents: saved ones, and the one that a session has."""

from __future__ import annotations

from typing import Any

from agents.base import ids
from agents.record.schemas.agents import AgentConfig, McpServer, OpenAISettings, WebSearchSettings
from agents.record.schemas.content import JsonSchemaFormat, ToolDef
from agents.record.schemas.items import tool_definition

JSON = dict[str, Any]
DEFERRED, ASYNC = "defer_loading", "async"
"""Keys in the metadata of a function: what its client said of it."""


def agent_id(key: int) -> str:
    return ids.part("agent", ids.Kind.AGENT, key)


def nobody_of(session: int) -> str:
    """Return what stands for the agent of a session that has none: it names no agent."""
    return ids.part("agent", ids.Kind.SESSION, session)


def saved_agent_json(key: int, config: AgentConfig, created_at_us: int, updated_at_us: int) -> JSON:
    """Encode a saved agent."""
    settings = config.openai or OpenAISettings()
    return {
        "id": agent_id(key),
        "object": "agent",
        "created_at": created_at_us // 1_000_000,
        "updated_at": updated_at_us // 1_000_000,
        "metadata": settings.metadata,
        **_common(config, settings, saved=True),
    }


def session_agent_json(public_id: str, config: AgentConfig) -> JSON:
    """Encode the agent of a session, with the id that is shown for it."""
    return {"id": public_id, **_common(config, config.openai or OpenAISettings(), saved=False)}


def _common(config: AgentConfig, settings: OpenAISettings, *, saved: bool) -> JSON:
    return {
        "name": config.name,
        "model": config.model,
        "instructions": config.instructions or None,
        "multi_agent": {"enabled": False, "max_concurrent_subagents": None},
        "reasoning": {"effort": settings.effort, "summary": settings.summary},
        "service_tier": settings.service_tier,
        "text": {"format": _format(config), "verbosity": settings.verbosity},
        "tools": [*map(_function, config.client_tools), *(_hosted(tool, saved=saved) for tool in settings.tools)],
        "compaction": {"async": bool(settings.async_compaction)},
        "experimental": None if settings.time_awareness is None else {"time_awareness": settings.time_awareness},
    }


def _format(config: AgentConfig) -> JSON:
    if isinstance(config.response_format, JsonSchemaFormat):
        return {"type": "json_schema", "schema": config.response_format.json_schema}
    return {"type": "text"}


def _function(tool: ToolDef) -> JSON:
    said = tool.metadata or {}
    shown = {
        "type": "function",
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool_definition(tool)["function"]["parameters"],
        "defer_loading": bool(said.get(DEFERRED)),
    }
    return {**shown, "async": said[ASYNC]} if ASYNC in said else shown


def _hosted(tool: McpServer | WebSearchSettings, *, saved: bool) -> JSON:
    if isinstance(tool, WebSearchSettings):
        return tool.model_dump()
    transport: JSON = {"type": "http", "server_url": tool.server_url}
    return {
        "type": "mcp",
        "server_label": tool.server_label,
        "transport": {**transport, "headers": {}} if saved else transport,
        "allowed_tools": tool.allowed_tools,
        "connection_origin": "service",
        "credential_id": None,
        "request_metadata": tool.request_metadata,
        "required": tool.required,
    }
