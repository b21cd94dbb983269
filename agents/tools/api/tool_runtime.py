"""Tools outside any turn: what a group or an MCP server has, and one call."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import ValidationError
from rest_framework.request import Request

from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, answer, data_list
from agents.base.errors import InvalidRequest
from agents.loop import toolset
from agents.loop.current_service import service
from agents.loop.protocols.tools import ServerToolGroup, ToolContext, ToolWithArgs
from agents.loop.run_tool import run_tool
from agents.record.schemas.content import Url
from agents.tools.api.tools import JSON, find_tool, tool_objects
from agents.tools.providers import mcp
from agents.tools.providers.mcp import McpClient, McpFault, Server
from agents.tools.runner import toolgroups
from agents.tools.schemas import InvokeTool, ToolInvocation


class RuntimeTools(ApiView):
    """Asks servers on the caller's behalf, so that it takes the right to run."""

    actions = {"get": "run"}

    @extend_schema(
        operation_id="list_runtime_tools",
        parameters=[
            OpenApiParameter("tool_group_id", str),
            OpenApiParameter("mcp_endpoint", str, description='JSON: ``{"uri": "https://…"}``.'),
        ],
        responses=JSON,
    )
    def get(self, request: Request) -> HttpResponseBase:
        name, uri = request._request.GET.get("tool_group_id", ""), _endpoint(request._request)
        sent = provider_data(request._request)
        if not name and not uri:
            groups = toolset.listing(service().providers, self.actor, "run")
            return data_list(tool for group in groups for tool in tool_objects(group))

        async def work() -> HttpResponseBase:
            providers = service().providers
            listed_group = (
                toolgroups.listed_group(providers, self.actor, name, sent, "run") if name else _of_server(uri, sent)
            )
            return data_list(tool_objects(await listed_group))

        return Awaited(work)


def _endpoint(request: HttpRequest) -> str:
    """The URL of ``mcp_endpoint``: a JSON object, or in the brackets of clients."""
    raw = request.GET.get("mcp_endpoint", "")
    if not raw:
        return request.GET.get("mcp_endpoint[uri]", "")
    try:
        return Url.model_validate_json(raw).uri
    except ValidationError:
        raise InvalidRequest('mcp_endpoint: must be a JSON object {"uri": …}.', param="mcp_endpoint") from None


async def _of_server(uri: str, sent: dict[str, Any]) -> ServerToolGroup:
    providers, server = service().providers, Server(uri)
    await providers.part(McpClient).check(uri)
    try:
        listing = await providers.part(McpClient).list(server, sent)
    except McpFault as fault:
        raise toolgroups.listing_error(uri, fault) from None
    return mcp.group(uri, server, providers.part(McpClient), listing.tools, args={}, note=listing.note)


class Invocation(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="invoke_tool", request=InvokeTool, responses=ToolInvocation)
    def post(self, request: Request) -> HttpResponseBase:
        body: InvokeTool = self.body(InvokeTool)
        sent = provider_data(request._request)
        group, tool = find_tool(self.actor, body.tool_name, "run")
        bound_tool = ToolWithArgs(tool, group.args) if group.args else tool
        context = ToolContext("", "", self.actor.name, sent)

        async def work() -> HttpResponseBase:
            result = await run_tool(bound_tool, body.kwargs, context, service().providers.tool_timeout_s)
            return answer(
                ToolInvocation(
                    content=result.content,
                    error_message=result.error,
                    error_code=1 if result.error else None,
                    metadata=result.metadata or None,
                )
            )

        return Awaited(work)
