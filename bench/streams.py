"""Reads server-sent events: when they came, how many were tokens, whether the stream was whole.

Blocks are told apart by patterns on bytes; decoding each would cost the client more than the
server spends on it. Knows no routes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from bench.faults import Broken

JSON = Any


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a block with a token looks like, and the block that completes a stream."""

    token: re.Pattern[bytes]
    end: re.Pattern[bytes]


CHAT = Dialect(re.compile(rb'"delta": ?\{[^}]*"content": ?"[^"]'), re.compile(rb"^data: ?\[DONE\]"))
TURN = Dialect(re.compile(rb'"step_progress".*"text": ?"[^"]'), re.compile(rb'"turn_(?:complete|awaiting_input)"'))
RESPONSE = Dialect(re.compile(rb'"type":"response\.output_text\.delta"'), re.compile(rb'"type":"response\.completed"'))


@dataclass(slots=True)
class Timing:
    """One stream. Times in seconds from ``began`` (monotonic); ``end`` is the block that completed it."""

    dialect: Dialect
    began: float
    first_event_s: float = 0.0
    first_token_s: float = 0.0
    total_s: float = 0.0
    events: int = 0
    tokens: int = 0
    end: bytes = b""
    last: bytes = b""

    def take(self, arrived: float, block: bytes) -> None:
        self.events += 1
        self.last = block
        if self.events == 1:
            self.first_event_s = arrived - self.began
        if self.dialect.token.search(block):
            self.tokens += 1
            if self.tokens == 1:
                self.first_token_s = arrived - self.began
        elif self.dialect.end.search(block):
            self.end = block

    def check(self, tokens: int) -> None:
        """Raises Broken unless the stream was completed by its last block and had so many tokens."""
        if not self.end or self.end is not self.last:
            raise Broken(f"the stream did not complete: {self.events} events, the last {self.last[-300:]!r}")
        if self.tokens != tokens:
            raise Broken(f"the stream had {self.tokens} tokens, not {tokens}")


async def read_stream(
    response: aiohttp.ClientResponse, dialect: Dialect, began: float, on_first: Callable[[bytes], None] | None = None
) -> Timing:
    """Read to the end. ``on_first`` is given the first block as soon as it is there."""
    timing = Timing(dialect, began)
    async for arrived, found in blocks(response):
        for block in found:
            timing.take(arrived, block)
            if on_first and timing.events == 1:
                on_first(block)
    timing.total_s = time.monotonic() - began
    return timing


async def blocks(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[float, list[bytes]]]:
    """(arrival, the blocks with data that were complete by then) for each piece off the socket."""
    tail = b""
    async for piece in response.content.iter_any():
        arrived = time.monotonic()
        *whole, tail = (tail + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        yield arrived, [block for block in whole if b"data:" in block]


@dataclass(frozen=True, slots=True)
class Frame:
    """A block taken apart: its id (a cursor) and the payload of its event."""

    cursor: str
    payload: JSON

    @property
    def kind(self) -> str:
        return str(self.payload["event_type"])

    @property
    def text(self) -> str:
        """The text this frame adds to the answer."""
        delta = self.payload.get("delta") or {}
        return str(delta["text"]) if delta.get("type") == "text" else ""


def frame_of(block: bytes) -> Frame:
    """Take a block of a turn's stream apart. Raises Broken for one that carries an error."""
    fields = dict(line.split(b":", 1) for line in block.split(b"\n") if b":" in line)
    body = json.loads(fields[b"data"])
    if "event" not in body:
        raise Broken(f"the stream carries an error: {body}")
    return Frame(fields.get(b"id", b"").decode().strip(), body["event"]["payload"])
