"""The messages between a server and the process of its functions: a JSON object, and bytes that belong to it (a text
may be large, and as bytes it is neither escaped nor parsed).

From the server:

- ``{"functions": {group: [path]}}``: first; answered by ``tools`` or ``error``
- ``{"call": 1, "tool": 0, "arguments", "context"}``: ``tool`` is the place in ``tools``, ``context`` a `ToolContext`
- ``{"cancel": 1}``: nobody waits for this call any more

From the process:

- ``{"tools": [{"group", "name", "description", "input_schema", "repeat", "in_doubt"}]}``
- ``{"error": "…"}``: a function cannot be a tool; the process ends
- ``{"call": 1, "is_json", "error", "metadata"}`` and the content as bytes: a text, or JSON of content items
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

Frame = tuple[dict[str, Any], bytes]

_SIZES = struct.Struct(">IQ")


def packed(head: dict[str, Any], body: bytes = b"") -> list[bytes]:
    """A message in pieces, so that a large body is not copied."""
    encoded = json.dumps(head, separators=(",", ":")).encode()
    return [_SIZES.pack(len(encoded), len(body)) + encoded, body]


async def read(reader: asyncio.StreamReader) -> Frame:
    """The next message. Raises EOFError, ConnectionError when the other side has gone."""
    head_size, body_size = _SIZES.unpack(await reader.readexactly(_SIZES.size))
    head = json.loads(await reader.readexactly(head_size))
    return head, await reader.readexactly(body_size)


def receive(connection: socket.socket) -> Frame:
    """The next message; blocking. Raises EOFError, ConnectionError when the other side has gone."""
    head_size, body_size = _SIZES.unpack(_exactly(connection, _SIZES.size))
    return json.loads(_exactly(connection, head_size)), _exactly(connection, body_size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = connection.recv(size - len(received))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)
