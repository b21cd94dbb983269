"""Threads of requests: who streams gives its thread back, and may still need one at its end."""

from __future__ import annotations

import asyncio
import encodings
import io
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agentsite import request_threads
from agentsite.http_handler import RequestThreadHandler
from agentsite.request_threads import RequestThreadPool


class Streams(RequestThreadHandler):
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
    own = RequestThreadPool(min_threads=0)
    monkeypatch.setattr(request_threads, "thread_pool", own)
    monkeypatch.setattr(request_threads, "IDLE_S", 0.0)

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


def test_a_thread_whose_caller_has_gone_is_not_lent_before_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    own = RequestThreadPool()
    monkeypatch.setattr(request_threads, "thread_pool", own)
    begun, ends = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        ends.wait(30)

    async def play() -> None:
        leaving = asyncio.ensure_future(_request("ann", slow))
        await asyncio.to_thread(begun.wait)
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving
        await asyncio.wait_for(_request("ben", lambda: None), 10)
        ends.set()

    try:
        asyncio.run(play())
    finally:
        ends.set()
        own.close()


async def _request(caller: str, view: Callable[[], None]) -> None:
    class Answers(RequestThreadHandler):
        async def handle(self, scope: Any, receive: Any, send: Any) -> None:
            await scope[request_threads.EXECUTOR_KEY].enter(caller)
            await sync_to_async(view)()

    await Answers()({"type": "http"}, None, None)


def test_names_of_charsets_are_not_remembered() -> None:
    """Python would keep each that it was asked for, and anybody may send one."""
    scope = {"type": "http", "method": "POST", "path": "/v1/agents", "query_string": b""}
    for charset in ("kettle", "utf-16", "utf-8"):
        kind = f'multipart/form-data; boundary="x"; charset={charset}'.encode()
        request = RequestThreadHandler.request_class({**scope, "headers": [(b"content-type", kind)]}, io.BytesIO())
        assert request.content_type == "multipart/form-data"
        assert request.content_params is not None
        assert (request.encoding, request.content_params.get("boundary")) == {
            "kettle": (None, "x"),
            "utf-16": ("utf-16", "x"),
            "utf-8": ("utf-8", "x"),
        }[charset]
    assert "kettle" not in encodings._cache  # its own memory
