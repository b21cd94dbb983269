"""Events on their way through: what is told before the stream begins, during it, and when it is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import RequestFactory

from agents.base import sse
from agents.base.errors import AgentsError, ProviderError
from agents.relay.api.event_streams import event_stream

FAULT = ProviderError("lab answered 429: slow down", provider="lab", upstream_status=429, retry_after_s=7)


class Source:
    """Events that wait for ``go`` where they say so. ``closed`` tells that nothing more can come."""

    def __init__(self, *events: bytes | Exception | None) -> None:
        self._events = events
        self.go = asyncio.Event()
        self.closed = False

    async def events(self) -> AsyncGenerator[bytes, None]:
        try:
            for event in self._events:
                if event is None:
                    await self.go.wait()
                elif isinstance(event, Exception):
                    raise event
                else:
                    yield event
        finally:
            self.closed = True


async def parts(response: Any) -> list[bytes]:
    return [part async for part in response]


def stream_of(response: HttpResponseBase) -> AsyncGenerator[bytes, None]:
    assert isinstance(response, StreamingHttpResponse)
    stream = aiter(response)
    assert isinstance(stream, AsyncGenerator)
    return stream


def test_what_comes_is_framed() -> None:
    async def main() -> list[bytes]:
        return await parts(await event_stream(Source(b"{}", b"[]").events()))

    assert asyncio.run(main()) == [b"data: {}\n\n", b"data: []\n\n"]


def test_nothing_is_a_stream_too() -> None:
    async def main() -> list[bytes]:
        return await parts(await event_stream(Source().events()))

    assert asyncio.run(main()) == []


def test_what_is_refused_at_once_is_no_stream() -> None:
    with pytest.raises(AgentsError, match="slow down") as caught:
        asyncio.run(event_stream(Source(FAULT).events()))
    assert (caught.value.status, caught.value.type) == (429, "rate_limit_error")
    assert caught.value.headers == {"x-should-retry": "false", "Retry-After": "7"}


def test_what_fails_later_is_the_last_frame() -> None:
    request: Any = RequestFactory().post("/v1/chat/completions")
    request.request_id = "r1"

    async def main() -> list[bytes]:
        return await parts(await event_stream(Source(b"{}", FAULT).events(), request))

    first, last = asyncio.run(main())
    assert first == b"data: {}\n\n"
    assert b'"message":"lab answered 429: slow down"' in last
    assert b'"request_id":"r1"' in last


def test_silence_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "KEEP_ALIVE_S", 0.01)

    async def main() -> list[bytes]:
        source = Source(None, b"{}")
        found = []
        async for part in stream_of(await event_stream(source.events())):
            found.append(part)
            source.go.set()
        return found

    found = asyncio.run(main())
    assert (found[0], found[-1]) == (sse.KEEP_ALIVE, b"data: {}\n\n")


def test_who_leaves_ends_it() -> None:
    async def main() -> bool:
        source = Source(b"{}", None, b"{}")
        stream = stream_of(await event_stream(source.events()))
        await anext(stream)
        await stream.aclose()
        del stream
        for _ in range(10):  # Django's wrappers let go of it, and the loop closes it
            await asyncio.sleep(0)
        return source.closed

    assert asyncio.run(main())


def test_who_leaves_before_it_begins_ends_it() -> None:
    async def main() -> bool:
        source = Source(None)
        waiting = asyncio.create_task(event_stream(source.events()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return source.closed

    assert asyncio.run(main())
