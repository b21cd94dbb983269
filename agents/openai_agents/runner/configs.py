"""Turns what a request says of an agent into its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agents.base import addresses
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.forwarded_headers import validate_headers
from agents.base.store import sealed
from agents.loop import prepare
from agents.loop.current_service import service
from agents.openai_agents.schemas.agents import (
    AgentFields,
    AgentFunction,
    AgentMcpServer,
    AgentToolSearch,
    AgentWebSearch,
    HttpTransport,
    SchemaFormat,
    UpdateSavedAgent,
)
from agents.openai_agents.schemas.sessions import SessionAgentUpdate
from agents.openai_agents.wire.agents import ASYNC, DEFERRED
from agents.record.schemas.agents import AgentConfig, HostedToolConfig, McpServer, OpenAISettings, WebSearchSettings
from agents.record.schemas.content import JsonSchemaFormat, ToolDef

MAX_TOOLS_BYTES = 3 * 2**20
NOTHING = AgentConfig(model="-", instructions="")


def config_of(
    actor: Actor, given: AgentFields | SessionAgentUpdate, before: AgentConfig | None, where: str
) -> AgentConfig:
    """Return a configuration with what a request says: fields that it leaves out are as ``before``, null ones have
    their defaults. Raises InvalidRequest, naming the field below ``where``."""
    said = given.model_fields_set
    config, settings = before or NOTHING, (before.openai if before else None) or OpenAISettings()
    changes: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if given.model is not None:
        changes["model"] = given.model
    elif "model" in said or before is None:
        raise missing(f"{where}model")
    if "tools" in said:
        functions, more["tools"] = _tools(given.tools or [], f"{where}tools")
        changes["client_tools"] = functions
    if "service_tier" in said:
        more["service_tier"] = given.service_tier or "auto"
    if isinstance(given, SessionAgentUpdate):
        if given.reasoning is not None and "effort" in given.reasoning.model_fields_set:
            more["effort"] = given.reasoning.effort
    else:
        _take_fields(given, changes, more, where)
    if isinstance(given, UpdateSavedAgent):
        changes |= {"name": given.name} if "name" in said else {}
        more |= {"metadata": given.metadata or {}} if "metadata" in said else {}
    made = config.model_copy(update={**changes, "openai": settings.model_copy(update=more)})
    prepare.check_config(service().providers, actor, made)
    return made


def _take_fields(given: AgentFields, changes: dict[str, Any], more: dict[str, Any], where: str) -> None:
    said = given.model_fields_set
    if "instructions" in said:
        changes["instructions"] = given.instructions or ""
    if given.multi_agent is not None and given.multi_agent.enabled:
        raise unavailable(f"{where}multi_agent.enabled", "agents with subagents")
    if "reasoning" in said:
        more["effort"] = given.reasoning.effort if given.reasoning else None
        more["summary"] = given.reasoning.summary if given.reasoning else None
    if "compaction" in said:
        more["async_compaction"] = given.compaction.async_ if given.compaction else None
    if given.experimental is not None and "time_awareness" in given.experimental.model_fields_set:
        more["time_awareness"] = given.experimental.time_awareness
    if "text" in said:
        format = given.text.format if given.text else None
        more["verbosity"] = (given.text.verbosity if given.text else None) or "medium"
        changes["response_format"] = _schema(format, where) if isinstance(format, SchemaFormat) else None


def _schema(format: SchemaFormat, where: str) -> JsonSchemaFormat:
    if format.schema_.get("type", "object") != "object":
        path = f"{where}text.format.schema"
        raise InvalidRequest(f"{path}: the type at the root of the schema must be 'object'.", param=path)
    return JsonSchemaFormat(json_schema=format.schema_)


# -------------------------------------------------------------------------------------------------- tools


def _tools(tools: Sequence[Any], where: str) -> tuple[list[ToolDef], list[HostedToolConfig]]:
    """Return the client's functions, and the tools of servers."""
    if len(msgspec.json.encode([tool.model_dump(mode="json") for tool in tools])) > MAX_TOOLS_BYTES:
        raise InvalidRequest(f"{where}: the list is larger than {MAX_TOOLS_BYTES} bytes of JSON.", param=where)
    functions: list[ToolDef] = []
    hosted: list[HostedToolConfig] = []
    names: set[str] = set()
    for position, tool in enumerate(tools):
        path = f"{where}[{position}]"
        match tool:
            case AgentFunction():
                _claim(names, f"function {tool.name}", f"{path}.name", f"there are two functions named '{tool.name}'")
                functions.append(_function(tool))
            case AgentMcpServer():
                label = f"there are two servers labelled '{tool.server_label}'"
                _claim(names, f"server {tool.server_label}", f"{path}.server_label", label)
                hosted.append(server_of(tool, path))
            case AgentWebSearch():
                _claim(names, "web_search", path, "there are two tools of type web_search")
                hosted.append(_web_search(tool))
            case AgentToolSearch():
                pass
            case _:
                raise unavailable(f"{path}.type", f"tools of type '{tool.type}'")
    return functions, hosted


def _claim(names: set[str], name: str, path: str, problem: str) -> None:
    if name in names:
        raise InvalidRequest(f"{path}: {problem[:300]}.", param=path)
    names.add(name)


def _function(tool: AgentFunction) -> ToolDef:
    said: dict[str, Any] = {DEFERRED: True} if tool.defer_loading else {}
    if tool.async_ is not None:
        said[ASYNC] = tool.async_
    return ToolDef(
        name=tool.name,
        description=tool.description,
        input_schema=tool.parameters or {"type": "object"},
        metadata=said or None,
    )


def _web_search(tool: AgentWebSearch) -> WebSearchSettings:
    return WebSearchSettings(
        mode=tool.mode or "live",
        context_size=tool.context_size or "medium",
        allowed_domains=tool.allowed_domains,
        location=tool.location.model_dump() if tool.location else None,
    )


def server_of(tool: AgentMcpServer, path: str) -> McpServer:
    """Return an MCP server that a request names at ``path``. Raises InvalidRequest."""
    transport = tool.transport
    if not isinstance(transport, HttpTransport):
        raise unavailable(f"{path}.transport.type", "MCP servers that are started by a command")
    if tool.connection_origin == "environment":
        raise unavailable(f"{path}.connection_origin", "connections from an environment")
    if tool.credential_id is not None:
        raise unavailable(f"{path}.credential_id", "vaults")
    url_path = f"{path}.transport.server_url"
    try:
        addresses.check_syntax(transport.server_url)
    except InvalidRequest as error:
        raise InvalidRequest(f"{url_path}: {error.message}", param=url_path) from None
    headers = validate_headers(dict(transport.headers or {}), f"{path}.transport.headers")
    if transport.authorization:
        bearer = {"Authorization": f"Bearer {transport.authorization}"}
        headers |= validate_headers(bearer, f"{path}.transport.authorization")
    return McpServer(
        server_label=tool.server_label,
        server_url=transport.server_url,
        allowed_tools=tool.allowed_tools,
        required=bool(tool.required),
        request_metadata=tool.request_metadata or {},
        sealed_headers=sealed.seal(transport.server_url, headers),
    )


def missing(path: str) -> InvalidRequest:
    return InvalidRequest(f"Missing required parameter: '{path}'.", param=path, code="missing_required_parameter")


def unavailable(path: str, what: str) -> InvalidRequest:
    """Return the error for what this server does not have."""
    return InvalidRequest(f"{path}: this server has no {what}.", param=path, code="unsupported_value")
