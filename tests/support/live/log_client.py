"""The official client of the Model Context Protocol, as a program that uses the tools of a log holds it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests import ROOT

T = TypeVar("T")


class LogClient:
    """One connection. ``read`` counts the characters of all that it was told, descriptions of the tools included."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.read = 0

    async def tools(self) -> list[types.Tool]:
        tools = (await self.client.list_tools()).tools
        self.read += sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in tools)
        return tools

    async def call(self, tool: str, **arguments: Any) -> str:
        """What a tool answered, which must not be an error."""
        answer = await self.ask(tool, **arguments)
        assert not answer.is_error, answer.content
        return text_of(answer)

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Why a tool refused."""
        answer = await self.ask(tool, **arguments)
        assert answer.is_error, answer.content
        return text_of(answer)

    async def ask(self, tool: str, **arguments: Any) -> types.CallToolResult:
        answer = await self.client.call_tool(tool, arguments)
        self.read += len(text_of(answer))
        return answer


def text_of(answer: types.CallToolResult) -> str:
    [part] = answer.content
    assert isinstance(part, types.TextContent)
    return part.text


@asynccontextmanager
async def over_http(base: str, key: str = "", mode: Any = "auto") -> AsyncIterator[LogClient]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{base}/mcp", http_client=http), mode=mode) as client,
    ):
        yield LogClient(client)


@asynccontextmanager
async def over_stdio(base: str, data: Path, key: str = "", mode: Any = "auto") -> AsyncIterator[LogClient]:
    """The command, started as such a program starts it."""
    environment = {"DATA_DIR": str(data), "TURNLOG_API_KEY": key, "PATH": os.environ["PATH"]}
    arguments = [str(ROOT / "manage.py"), "mcp", "--url", f"{base}/mcp"]
    command = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(command, mode=mode) as client:
        yield LogClient(client)


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Run a test's work to its end, on a loop of its own."""

    async def bounded() -> T:
        async with asyncio.timeout(120):
            return await work()

    return asyncio.run(bounded())
