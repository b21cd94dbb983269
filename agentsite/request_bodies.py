"""Passes large request bodies to the application in chunks, read from disk on demand.

Daphne keeps a large body in a temporary file, but queues all of its chunks at once. Here it stays in its file, and
each ``receive`` of the application reads one chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import IO, Any

CHUNK_SIZE = 64 * 1024
BODY_KEY = "agentsite.body"
"""The key of the body's file in a request's scope."""

Application = Callable[..., Awaitable[Any]]


def with_file_bodies(application: Application) -> Application:
    """Wrap an application so that it receives the body from its file, where the request has one."""

    def wrapped(scope: dict[str, Any], receive: Any, send: Any) -> Awaitable[Any]:
        body = scope.get(BODY_KEY)
        return application(scope, receive if body is None else _BodyReader(body, receive), send)

    return wrapped


class _BodyReader:
    """``receive`` of such a request: first the chunks of the body, then further messages."""

    def __init__(self, body: IO[bytes], receive: Callable[[], Awaitable[Any]]) -> None:
        self._body, self._receive = body, receive
        self._started = self._done = False

    async def __call__(self) -> Any:
        if self._done:
            return await self._receive()
        if not self._started:
            self._started = True
            message = await self._receive()
            if message["type"] != "http.request":
                return message  # the caller has disconnected
        await asyncio.sleep(0)  # other requests run between two chunks
        if self._body.closed:
            self._done = True
            return await self._receive()
        chunk = self._body.read(CHUNK_SIZE)
        self._done = len(chunk) < CHUNK_SIZE
        return {"type": "http.request", "body": chunk, "more_body": not self._done}
