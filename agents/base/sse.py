"""Server-sent events: one frame per event, comments to keep a quiet stream open."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from contextvars import ContextVar
from typing import Generic, Protocol, TypeVar

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


class ReaderSocket(Protocol):
    """The connection of the reader of a stream."""

    def takes_part(self) -> bool:
        """Tell whether it is there, and everything sent before is on its way."""
        ...

    def send_part(self, body: bytes) -> None:
        """Send a part of the stream, after `takes_part` has said yes."""
        ...


reader_socket: ContextVar[ReaderSocket | None] = ContextVar("reader_socket", default=None)
"""The connection on which the request at hand is answered, where its server gives it."""


class FrameSender(Generic[T]):
    """Encodes the batches of a stream. Once the stream has begun it can be called with a batch to `send` it right away:
    that takes no change to the task of its reader, which costs more than all else that is done with a token."""

    def __init__(self, encode: Callable[[T], bytes]) -> None:
        self.encode = encode
        self.sent_at = -KEEP_ALIVE_S  # at once: the headers wait for the first byte
        self.socket: ReaderSocket | None = None

    def begin(self) -> None:
        """Note that a part has been sent: from now on, what follows may be sent from here."""
        self.sent_at = time.monotonic()
        if self.socket is None:
            self.socket = reader_socket.get()

    def send(self, batch: T) -> bool:
        """Send a batch; false, and nothing is done, where its reader's task has to."""
        if self.socket is None or not self.socket.takes_part():
            return False
        try:
            body = self.encode(batch)
        except Exception:  # noqa: BLE001 - raised again in the task of its reader; whoever calls this is not to blame
            self.socket = None
            return False
        if body:
            self.socket.send_part(body)
            self.sent_at = time.monotonic()
        return True


async def with_keep_alive(
    batches: AsyncGenerator[T, None], sender: FrameSender[T], *, first: bytes = b""
) -> AsyncIterator[bytes]:
    """Yield the encoded frames of batches, and comments in quiet times; ``first`` are frames to send at once. Between
    two of them ``sender`` may send batches itself."""
    try:
        async with aclosing(batches):
            if first:
                yield first
                sender.begin()
            async for batch in batches:
                body = sender.encode(batch)
                if body:
                    yield body
                elif time.monotonic() - sender.sent_at < KEEP_ALIVE_S:
                    continue
                else:
                    yield KEEP_ALIVE
                sender.begin()
    finally:
        sender.socket = None


def frame(body: bytes, cursor: str = "") -> bytes:
    """Build one frame. ``body`` is one line of JSON; ``cursor`` becomes the reader's ``Last-Event-ID``."""
    if cursor:
        return b"id: %b\ndata: %b\n\n" % (cursor.encode(), body)
    return b"data: %b\n\n" % body


def named_frame(name: str, body: bytes) -> bytes:
    """Build a frame for readers that go by the name of the event, and skip those without one."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), body)
