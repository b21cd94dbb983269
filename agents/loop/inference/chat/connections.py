"""The HTTP connections to model endpoints: one aiohttp session per event loop.

A session belongs to the loop it was created in. Sessions hold nothing specific to an endpoint and
nothing from the environment: no proxy or netrc, no cookies, no compression (a decompression bomb, and
a delay for streamed tokens).
"""

from __future__ import annotations

import asyncio
from asyncio import selector_events, sslproto

import aiohttp

READ_BYTES = 32 * 1024
"""The most that one read of a connection asks for. asyncio asks for 256 KiB, for which the C library maps memory and
takes it back: for every token, which costs more than to read it."""
selector_events._SelectorSocketTransport.max_size = READ_BYTES  # type: ignore[attr-defined]  # typeshed has no class
sslproto.SSLProtocol.max_size = READ_BYTES


class Connections:
    """Sessions created when first needed. ``connect_s`` bounds the DNS lookup and the connect; callers
    bound every other wait."""

    def __init__(self, connect_s: float) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_s, sock_connect=connect_s)
        self._sessions: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}

    def session(self) -> aiohttp.ClientSession:
        """The session of the running loop."""
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None or session.closed:
            session = self._sessions[loop] = self._new()
        return session

    async def close(self) -> None:
        """Close the session of the running loop, and those whose loop is closed already. A session of
        another running loop can only be closed there."""
        running = asyncio.get_running_loop()
        for loop in [loop for loop in self._sessions if loop is running or loop.is_closed()]:
            await self._sessions.pop(loop).close()

    def _new(self) -> aiohttp.ClientSession:
        # Turns are bounded by the runner; a limit here would let them wait for each other unseen.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=self._timeout,
            headers={"Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
