"""Reads the body of an endpoint's answer as it arrives, with a timeout on every read.

This module handles bytes only and does not parse them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp

from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.sse import MAX_EVENT_BYTES
from agents.loop.inference.chat.timeouts import Deadlines

_SETTLE_S = 0.1


class ResponseBody:
    """The body of one answer. It must be closed, also after its end.

    There is one timer, re-armed when it fires, and not one per read: usually there is a read per token,
    and an `asyncio.timeout` would cost more than the rest of the read.
    """

    __slots__ = (
        "_content", "_deadlines", "_expired", "_faults", "_loop", "_response", "_timer", "_until", "_waiting", "began",
    )  # fmt: skip

    def __init__(self, response: aiohttp.ClientResponse, deadlines: Deadlines, faults: EndpointErrors) -> None:
        self._response = response
        self._content = response.content
        self._deadlines = deadlines
        self._faults = faults
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        self._waiting = False
        self._expired = False
        self.began = False
        """Whether any byte of a document has arrived."""

    @property
    def content_type(self) -> str:
        return self._response.content_type

    async def read(self, *, started: bool, finished: bool = False) -> bytes:
        """Return the bytes that have arrived; empty at the end. If the answer is ``finished`` (it gave its
        finish reason), a lost connection counts as its end. Raises ProviderError. Time between reads does
        not count."""
        self._watch(self._deadlines.of_next_read(self._loop.time(), started=started, finished=finished))
        self._waiting = True
        try:
            return await self._read_arrived()
        except (aiohttp.ClientError, OSError) as error:
            # aiohttp raises for a lost connection before it returns the bytes received before the loss,
            # and has no public method to get them.
            remaining = self._content._read_nowait(-1)
            if remaining or finished:
                return remaining
            if self._expired:
                raise self._faults.timeout(self._deadlines.reason(self._loop.time(), started=started)) from None
            raise self._faults.cut(f"{type(error).__name__}: {error}") from None
        finally:
            self._waiting = False

    async def _read_arrived(self) -> bytes:
        """Wait for bytes, and return all that have arrived."""
        content = self._content
        while not content._buffer and not content.is_eof() and content.exception() is None:
            await content._wait("read")
        # one part instead of one per token: aiohttp asks after each whether its connection may read on, and that
        # costs more than all we do with a token
        if len(content._buffer) > 1 and not content._buffer_offset:
            arrived = b"".join(content._buffer)
            content._buffer.clear()
            content._buffer.append(arrived)
        return content.read_nowait()

    async def read_all(self) -> bytes:
        """Return the full body, at most `MAX_EVENT_BYTES`. Raises ProviderError."""
        body = bytearray()
        while data := await self.read(started=True):
            body += data
            self.began = True
            if len(body) > MAX_EVENT_BYTES:
                raise self._faults.too_large(f"a document of more than {MAX_EVENT_BYTES} bytes")
        return bytes(body)

    async def settle(self) -> None:
        """Read what follows the end of an answer, so that the connection can be reused."""
        with suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(_SETTLE_S):
                while await self._content.readany():
                    pass

    def close(self) -> None:
        """Close the connection, unless the body was read to its end."""
        if self._timer:
            self._timer.cancel()
        self._response.close()

    def _watch(self, until: float) -> None:
        self._until = until
        if self._timer is None or until < self._timer.when():
            if self._timer:
                self._timer.cancel()
            self._timer = self._loop.call_at(until, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if not self._waiting:
            return  # the next read starts it again
        if self._loop.time() < self._until:
            self._timer = self._loop.call_at(self._until, self._on_timer)
            return
        self._expired = True
        # Wakes the read with an error.
        self._response.close()
