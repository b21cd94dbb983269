"""The tools of the log for a program that speaks MCP with a command: it passes each request on to a server of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from agents.log_tools.schemas.arguments import MAX_WAIT_S

TIMEOUT_S = MAX_WAIT_S + 30.0
"""Seconds that an answer may take."""


class NoServer(Exception):
    """No server answered, or it did not let the caller in; the message says what can be done."""


async def serve(url: str, headers: Mapping[str, str]) -> None:
    """Pass on what comes over standard input until it ends, and write the answers to standard output. Raises
    NoServer before anything was answered."""
    async with httpx2.AsyncClient(headers=dict(headers), timeout=TIMEOUT_S, trust_env=False) as http:
        await _check(http, url)
        async with Client(streamable_http_client(url, http_client=http), cache=None) as upstream:
            server = _passing_on(upstream)
            async with stdio_server() as (requests, answers):
                await server.run(requests, answers, server.create_initialization_options())


async def _check(http: httpx2.AsyncClient, url: str) -> None:
    """Find out why a server could not be asked, while there is somebody to be told."""
    ping = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
    try:
        answer = await http.post(url, json=ping, headers={"Accept": "application/json, text/event-stream"})
    except httpx2.HTTPError as error:
        raise NoServer(
            f"No server answers at {url} ({type(error).__name__}); start one, or name its address."
        ) from None
    if answer.status_code in (401, 403):
        raise NoServer(f"{url} refused this key ({answer.status_code}): it needs one that may read.")
    if answer.status_code != 200:
        raise NoServer(f"{url} answered {answer.status_code}: these are not the tools of a log.")


def _passing_on(upstream: Client) -> Server[Any]:
    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        request = types.ListToolsRequest(params=params)
        return await upstream.session.send_request(request, types.ListToolsResult)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        sent = types.CallToolRequestParams(name=params.name, arguments=params.arguments)
        return await upstream.session.send_request(types.CallToolRequest(params=sent), types.CallToolResult)

    offered = upstream.server_info or types.Implementation(name="turnlog", version="")
    return Server(
        offered.name,
        version=offered.version,
        title=offered.title,
        instructions=upstream.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
