"""One process of functions, from its first message to the end of the server."""

from __future__ import annotations

import asyncio
import io
import os
import select
import signal
import socket
import sys
import threading
from typing import Any

from turnlog.tool_worker import frames, functions
from turnlog.tool_worker.calls import Calls

LIMIT = 2**20
"""Bytes that are read ahead."""
END_S = 5.0
"""How long this process may take to end once the server has gone."""


def serve(connection: socket.socket) -> int:
    """Load the functions that the server names, and run its calls until it goes. Returns the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what functions print comes among the server's own lines
    for number in (signal.SIGINT, signal.SIGTERM):
        # a terminal and a service manager send these to all processes of a server, which then finishes its turns first;
        # a handler that does nothing, as programs that functions start inherit what is ignored
        signal.signal(number, lambda *_: None)
    threading.Thread(target=_end_after_server, args=(connection,), name="end", daemon=True).start()
    try:
        message, _ = frames.receive(connection)
        tools = functions.load(message["functions"])
    except functions.FunctionError as error:
        connection.sendall(b"".join(frames.packed({"error": str(error)})))
        return 1
    except (EOFError, ConnectionError):
        return 0
    connection.sendall(b"".join(frames.packed({"tools": [dict(tool.definition) for tool in tools]})))
    asyncio.run(_run_calls(connection, tools))
    return 0


async def _run_calls(connection: socket.socket, tools: list[functions.FunctionTool]) -> None:
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LIMIT)

    def send(head: dict[str, Any], body: bytes) -> None:
        for piece in frames.packed(head, body):
            writer.write(piece)

    calls = Calls(tools, send)
    try:
        while True:
            message, _ = await frames.read(reader)
            if "cancel" in message:
                calls.cancel(message["cancel"])
            else:
                calls.begin(message)
    except (EOFError, ConnectionError):
        calls.cancel_all()  # the server has gone
    finally:
        writer.close()


def _end_after_server(connection: socket.socket) -> None:
    """End this process soon after the server, also where a function holds up the loop or the interpreter's end."""
    hangs_up = select.poll()
    hangs_up.register(connection, getattr(select, "POLLRDHUP", 0))
    hangs_up.poll()
    threading.Event().wait(END_S)
    os._exit(1)
