"""Server-sent events: one frame per event, comments to keep a quiet stream open."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")

KEEP_ALIVE = b": ping\n\n"
KEEP_ALIVE_S = 10.0
"""Clients give up after 60 s without a byte; proxies earlier."""

CONTENT_TYPE = "text/event-stream; charset=utf-8"
HEADERS = {
    "Content-Type": CONTENT_TYPE,
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


async def with_keep_alive(
    batches: AsyncGenerator[T, None], encode: Callable[[T], bytes], *, first: bytes = b""
) -> AsyncIterator[bytes]:
    """Yield the encoded frames of batches, and comments in quiet times; ``first`` are frames to send at once."""
    sent_at = -KEEP_ALIVE_S  # at once: the headers wait for the first byte
    if first:
        yield first
        sent_at = time.monotonic()
    async with aclosing(batches):
        async for batch in batches:
            body = encode(batch)
            if body:
                yield body
            elif time.monotonic() - sent_at < KEEP_ALIVE_S:
                continue
            else:
                yield KEEP_ALIVE
            sent_at = time.monotonic()


def frame(body: bytes, cursor: str = "") -> bytes:
    """Build one frame. ``body`` is one line of JSON; ``cursor`` becomes the reader's ``Last-Event-ID``."""
    if cursor:
        return b"id: %b\ndata: %b\n\n" % (cursor.encode(), body)
    return b"data: %b\n\n" % body


def named_frame(name: str, body: bytes) -> bytes:
    """Build a frame for readers that go by the name of the event, and skip those without one."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), body)
