"""Threads of requests: who streams gives its thread back, and may still need one at its end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agentsite import lanes
from agentsite.lanes import LaneHandler, Lanes


class Streams(LaneHandler):
    """Streams until it is told to end, and clears up then."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = asyncio.Event()
        self.cleared = False

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        await self.ends.wait()
        await sync_to_async(self._clear)()

    def _clear(self) -> None:
        self.cleared = True


@pytest.mark.parametrize("stopped", [False, True])
def test_a_stream_outlives_the_thread_it_began_on(stopped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Lanes(least=0)
    monkeypatch.setattr(lanes, "lanes", own)
    monkeypatch.setattr(lanes, "IDLE_S", 0.0)

    async def play() -> bool:
        streams, begun = Streams(), asyncio.Event()

        async def send(event: Any) -> None:
            if event["type"] == "http.response.body":
                begun.set()

        running = asyncio.ensure_future(streams({"type": "http"}, None, send))
        await begun.wait()
        own.close() if stopped else own._retire()
        assert not len(own)
        streams.ends.set()
        await running
        own.close()
        return streams.cleared

    assert asyncio.run(play())
