"""An MCP server for tests, of the official SDK, run as a process: it says its port and then serves.

``python mcp_server.py streamable-http|sse|stdio [token]``: with a token, requests without it are refused.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("tests")


@server.tool()
def greet_everyone(url: str) -> str:
    """Greet everyone at a place"""
    return f"Hello, world! ({url})"


@server.tool()
def get_boiling_point(liquid_name: str, celsius: bool = True) -> int:
    """The boiling point of a liquid, in degrees"""
    if liquid_name != "polyjuice":
        raise ValueError(f"nobody has boiled {liquid_name}")
    return -100 if celsius else -148


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def drop_everything(table: str) -> str:
    """Drop a table"""
    return f"dropped {table}"


@server.tool()
def die() -> str:
    """End the process in the middle of the call"""
    os._exit(3)


@server.tool()
async def wait_forever() -> str:
    """Never answer"""
    await asyncio.Event().wait()
    return "never"


@server.tool()
def long_text(length: int) -> str:
    """A text of so many characters"""
    return "x" * length


def stdio() -> None:
    """A server of one tool, spoken to over its input and output."""
    small = MCPServer("tests")

    @small.tool()
    def whisper(word: str) -> str:
        """Say it quietly"""
        return f"({word})"

    small.run("stdio")


def guarded(app: Any, token: str) -> Callable[..., Awaitable[None]]:
    """The application, for those who send the token."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        sent = dict(scope.get("headers", ())).get(b"authorization", b"").decode()
        if scope["type"] == "http" and sent != f"Bearer {token}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await app(scope, receive, send)

    return guard


def serve(transport: str, token: str) -> None:
    app: Any = server.sse_app() if transport == "sse" else server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("MCP_PORT", "0"))))
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - read by the test
    config = uvicorn.Config(guarded(app, token) if token else app, log_level="error")
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        stdio()
    else:
        serve(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
