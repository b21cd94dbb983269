"""The body of an endpoint's answer as it arrives, with a watch over the silence in between.

Bytes only: what they mean is not known here.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp

from agents.loop.inference.chat.endpoint_errors import Faults
from agents.loop.inference.chat.sse import MAX_EVENT_BYTES
from agents.loop.inference.chat.timeouts import Deadlines

_SETTLE_S = 0.1


class Incoming:
    """One answer. To be closed, also after its end.

    The watch is one timer that is looked at when it rings, not one per read: a read per token is
    the rule, and an `asyncio.timeout` costs more than all the rest of it.
    """

    __slots__ = (
        "_content", "_deadlines", "_expired", "_faults", "_loop", "_response", "_timer", "_until", "_waiting", "began",
    )  # fmt: skip

    def __init__(self, response: aiohttp.ClientResponse, deadlines: Deadlines, faults: Faults) -> None:
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
        """Whether any of a document has come."""

    @property
    def content_type(self) -> str:
        return self._response.content_type

    async def read(self, *, started: bool, finished: bool = False) -> bytes:
        """What has arrived; empty at the end. What is ``finished`` in substance has ended, however
        its connection does. Raises ProviderError. Time spent between reads does not count."""
        self._watch(self._deadlines.of_next_read(self._loop.time(), started=started, finished=finished))
        self._waiting = True
        try:
            return await self._content.readany()
        except (aiohttp.ClientError, OSError) as error:
            # aiohttp tells of a lost connection before it hands out what had come before the loss,
            # and offers no public way to the rest.
            rest = self._content._read_nowait(-1)
            if rest or finished:
                return rest
            if self._expired:
                raise self._faults.timeout(self._deadlines.reason(self._loop.time(), started=started)) from None
            raise self._faults.cut(f"{type(error).__name__}: {error}") from None
        finally:
            self._waiting = False

    async def read_all(self) -> bytes:
        """The whole body, at most `MAX_EVENT_BYTES`. Raises ProviderError."""
        body = bytearray()
        while data := await self.read(started=True):
            body += data
            self.began = True
            if len(body) > MAX_EVENT_BYTES:
                raise self._faults.too_large(f"a document of more than {MAX_EVENT_BYTES} bytes")
        return bytes(body)

    async def settle(self) -> None:
        """Read the little that follows an answer's end, so that the connection can be used again."""
        with suppress(aiohttp.ClientError, OSError):
            async with asyncio.timeout(_SETTLE_S):
                while await self._content.readany():
                    pass

    def close(self) -> None:
        """Hang up, unless the body was read to its end."""
        if self._timer:
            self._timer.cancel()
        self._response.close()

    def _watch(self, until: float) -> None:
        self._until = until
        if self._timer is None or until < self._timer.when():
            if self._timer:
                self._timer.cancel()
            self._timer = self._loop.call_at(until, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if not self._waiting:
            return  # the next read sets it again
        if self._loop.time() < self._until:
            self._timer = self._loop.call_at(self._until, self._ring)
            return
        self._expired = True
        # Wakes the read with an error.
        self._response.close()
