"""Server-sent events: one frame per event, comments to keep a quiet stream open."""

from __future__ import annotations

KEEP_ALIVE = b": ping\n\n"
KEEP_ALIVE_S = 10.0
"""Clients give up after 60 s without a byte; proxies earlier."""

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


def frame(body: bytes, cursor: str = "") -> bytes:
    """One frame. ``body`` is one line of JSON; ``cursor`` becomes the reader's ``Last-Event-ID``."""
    if cursor:
        return b"id: %b\ndata: %b\n\n" % (cursor.encode(), body)
    return b"data: %b\n\n" % body
