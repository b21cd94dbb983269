"""Large bodies on their way into the application: read from disk as they are asked for.

Daphne keeps a large body in a temporary file, but hands all of it over at once, as pieces in a queue. Here it stays
in its file, and the application is given a piece whenever it wants one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import IO, Any

PIECE = 64 * 1024
KEY = "agentsite.body"
"""Where a request's scope has its body's file."""

Application = Callable[..., Awaitable[Any]]


def reading(application: Application) -> Application:
    """The application, with the body of a request taken from its file where it has one."""

    def called(scope: dict[str, Any], receive: Any, send: Any) -> Awaitable[Any]:
        body = scope.get(KEY)
        return application(scope, receive if body is None else _Reader(body, receive), send)

    return called


class _Reader:
    """``receive`` of such a request: the pieces, then what else there is to hear."""

    def __init__(self, body: IO[bytes], receive: Callable[[], Awaitable[Any]]) -> None:
        self._body, self._receive = body, receive
        self._begun = self._done = False

    async def __call__(self) -> Any:
        if self._done:
            return await self._receive()
        if not self._begun:
            self._begun = True
            message = await self._receive()
            if message["type"] != "http.request":
                return message  # the caller has gone
        await asyncio.sleep(0)  # others are served between two pieces
        if self._body.closed:
            self._done = True
            return await self._receive()
        piece = self._body.read(PIECE)
        self._done = len(piece) < PIECE
        return {"type": "http.request", "body": piece, "more_body": not self._done}
