"""Large bodies on their way into the application: read from disk as they are asked for.

Daphne keeps a large body in a temporary file, but hands all of it over at once, as pieces in a queue. Here it stays
in its file, and the application is given a piece whenever it wants one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import IO, Any

CHUNK_SIZE = 64 * 1024
BODY_KEY = "agentsite.body"
"""Where a request's scope has its body's file."""

Application = Callable[..., Awaitable[Any]]


def with_file_bodies(application: Application) -> Application:
    """The application, with the body of a request taken from its file where it has one."""

    def wrapped(scope: dict[str, Any], receive: Any, send: Any) -> Awaitable[Any]:
        body = scope.get(BODY_KEY)
        return application(scope, receive if body is None else _BodyReader(body, receive), send)

    return wrapped


class _BodyReader:
    """``receive`` of such a request: the pieces, then what else there is to hear."""

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
                return message  # the caller has gone
        await asyncio.sleep(0)  # others are served between two pieces
        if self._body.closed:
            self._done = True
            return await self._receive()
        chunk = self._body.read(CHUNK_SIZE)
        self._done = len(chunk) < CHUNK_SIZE
        return {"type": "http.request", "body": chunk, "more_body": not self._done}
