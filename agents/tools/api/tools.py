"""Tools and their groups: lists and objects, registering a group of an MCP server."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import redaction
from agents.base.access import Action, Actor
from agents.base.api.negotiation import json_response
from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, data_list, no_content
from agents.base.errors import NotFound
from agents.base.schemas.wire import iso
from agents.loop import toolset
from agents.loop.current_service import service
from agents.loop.extensions import extensions
from agents.loop.protocols.tools import ServerToolGroup, Tool
from agents.record.schemas.items import tool_definition
from agents.tools.runner import toolgroups
from agents.tools.runner.toolgroups import McpGroup
from agents.tools.schemas import RegisterToolGroup

JSON = {200: dict[str, Any]}


def tool_objects(group: ServerToolGroup) -> list[dict[str, Any]]:
    """The tools of a group, as lists show them."""
    return [_tool(group, tool) for tool in group.tools]


def _tool(group: ServerToolGroup, tool: Tool) -> dict[str, Any]:
    """A superset of 0.2's Tool and 0.3's."""
    definition = tool.definition
    schema = tool_definition(definition)["function"]["parameters"]
    return {
        "identifier": group.list_name(tool),
        "toolgroup_id": group.name,
        "description": definition.description or "",
        "parameters": _parameters(schema),
        "provider_id": group.provider_id,
        "provider_resource_id": group.list_name(tool),
        "type": "tool",
        "tool_host": "model_context_protocol" if group.mcp_endpoint else "distribution",
        "metadata": definition.metadata,
        "name": group.list_name(tool),
        "input_schema": schema,
        "output_schema": None,
    }


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """What 0.2 clients read of a schema; one that is odd inside shows what it can."""
    properties, required = schema.get("properties"), schema.get("required")
    entries = properties if isinstance(properties, dict) else {}
    needed = required if isinstance(required, list) else []
    return [
        _parameter(name, entry if isinstance(entry, dict) else {}, name in needed) for name, entry in entries.items()
    ]


def _parameter(name: str, entry: dict[str, Any], required: bool) -> dict[str, Any]:
    kind = entry.get("type", "string")
    return {
        "name": name,
        "parameter_type": kind if isinstance(kind, str) else "string",
        "description": str(entry.get("description") or ""),
        "required": required,
        "default": entry.get("default"),
    }


def _fixed_group(name: str, group: ServerToolGroup | None) -> dict[str, Any]:
    return _group(name, group.provider_id if group else "builtin")


def _mcp_group(group: McpGroup) -> dict[str, Any]:
    headers = dict.fromkeys(group.server.headers, "***")  # theirs alone, and never told again
    args = {**group.args, **({"headers": headers} if headers and group.key is not None else {})}
    uri = group.server.url if group.key is not None or not group.server.command else ""
    listed = iso(group.listed_at) if group.listed_at is not None else None
    metadata = {"tools": len(group.tools), "listed_at": listed, "note": group.note or None}
    return {**_group(group.name, "model-context-protocol", uri, args), "metadata": metadata}


def _group(name: str, provider_id: str, uri: str = "", args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "identifier": name,
        "provider_id": provider_id,
        "provider_resource_id": name,
        "type": "tool_group",
        "mcp_endpoint": {"uri": redaction.redacted_url(uri)} if uri else None,
        "args": args or None,
    }


# --------------------------------------------------------------------------------------------- tools


class ToolList(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_tools", parameters=[OpenApiParameter("toolgroup_id", str)], responses=JSON)
    def get(self, request: Request) -> HttpResponseBase:
        group_name = request._request.GET.get("toolgroup_id") or request._request.GET.get("toolgroup_id[name]")
        if not group_name:
            groups = toolset.listing(service().providers, self.actor)
            return data_list(tool for group in groups for tool in tool_objects(group))
        sent = provider_data(request._request)

        async def work() -> HttpResponseBase:
            return data_list(
                tool_objects(await toolgroups.listed_group(service().providers, self.actor, group_name, sent))
            )

        return Awaited(work)


class ToolDetailView(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_tool", responses=JSON)
    def get(self, request: Request, tool_name: str) -> HttpResponseBase:
        group, tool = find_tool(self.actor, tool_name)
        return json_response(msgspec.json.encode(_tool(group, tool)))


def find_tool(actor: Actor, name: str, action: Action = "read") -> tuple[ServerToolGroup, Tool]:
    """A tool by its name, or as ``group/tool``, and the group it is of. Of several that have one of that name it is the
    oldest whose last listing did not fail. Raises NotFound."""
    providers = service().providers
    group_id, slash, tool_name = name.partition("/")
    chosen_group = toolset.find(providers, actor, group_id, action) if slash else None
    groups = [chosen_group] if chosen_group else toolset.listing(providers, actor, action)
    matches = [(group, tool) for group in groups if (tool := group.find(tool_name if chosen_group else name))]
    if matches:
        return min(matches, key=lambda match: bool(match[0].note))
    raise NotFound(f"Tool '{name[:200]}' not found.", code="tool_not_found")


# -------------------------------------------------------------------------------------------- groups


class ToolGroupList(ApiView):
    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_toolgroups", responses=JSON)
    def get(self, request: Request) -> HttpResponseBase:
        providers = service().providers
        names = {**providers.tools, **providers.retrievers, **extensions.groups_by_args}
        fixed = [_fixed_group(name, providers.tools.get(name)) for name in names]
        return data_list([*fixed, *(_mcp_group(group) for group in toolgroups.mcp_listing(providers, self.actor))])

    @extend_schema(operation_id="register_toolgroup", request=RegisterToolGroup, responses={200: {"type": "null"}})
    def post(self, request: Request) -> HttpResponseBase:
        body, sent = self.body(RegisterToolGroup), provider_data(request._request)
        uri = body.mcp_endpoint.uri if body.mcp_endpoint else ""
        new = toolgroups.check_new(service().providers, body.toolgroup_id, body.provider_id, uri, body.args)

        async def work() -> HttpResponseBase:
            if new is not None:
                await toolgroups.register(service().providers, self.actor, new, sent)
            return json_response(b"null")

        return Awaited(work)


class ToolGroupDetail(ApiView):
    actions = {"get": "read", "delete": "manage"}

    @extend_schema(operation_id="get_toolgroup", responses=JSON)
    def get(self, request: Request, toolgroup_id: str) -> HttpResponseBase:
        providers = service().providers
        fixed = providers.tools.get(toolgroup_id)
        if fixed or toolgroup_id in providers.retrievers or toolgroup_id in extensions.groups_by_args:
            return json_response(msgspec.json.encode(_fixed_group(toolgroup_id, fixed)))
        group = toolgroups.find_mcp(providers, self.actor, toolgroup_id)
        if group is None:
            raise toolgroups.not_found(toolgroup_id)
        return json_response(msgspec.json.encode(_mcp_group(group)))

    @extend_schema(operation_id="unregister_toolgroup", responses={204: None})
    def delete(self, request: Request, toolgroup_id: str) -> HttpResponseBase:
        toolgroups.unregister(service().providers, self.actor, toolgroup_id)
        return no_content()
