"""Somebody else, who asks for little while the server has much to do: how long does each of the answers take?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from bench.client import Api

PAUSE_S = 0.02


class Neighbour:
    """``reads`` and ``writes`` are seconds, one of each request."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.reads: list[float] = []
        self.writes: list[float] = []

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[Neighbour]:
        """Asks for as long as the block lasts: something that only reads, something that writes, and again."""
        asked = [asyncio.create_task(some) for some in (self._read(), self._write())]
        try:
            yield self
        finally:
            for task in asked:
                task.cancel()
            for task in asked:
                with suppress(asyncio.CancelledError):
                    await task

    async def _read(self) -> None:
        while True:
            seconds, _ = await self._api.timed_get(f"{self._api.base}/healthz")
            self.reads.append(seconds)
            await asyncio.sleep(PAUSE_S)

    async def _write(self) -> None:
        url = f"{self._api.base}/v1/conversations"
        made = await self._api.ask("POST", url, {})
        while True:
            began = time.monotonic()
            await self._api.ask("POST", f"{url}/{made['id']}", {"metadata": {"at": str(began)}})
            self.writes.append(time.monotonic() - began)
            await asyncio.sleep(PAUSE_S)
