"""Streams events from an endpoint to the caller, while the request is open.

An error before the first event becomes an HTTP status; a later one becomes the last frame of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from agents.base import sse
from agents.base.api.error_bodies import error_frame
from agents.base.api.views import stream
from agents.base.errors import AgentsError, ProviderError
from agents.loop.caller_errors import for_caller


async def event_stream(
    events: AsyncGenerator[bytes, None],
    request: HttpRequest | None = None,
    *,
    frame: Callable[[bytes], bytes] = sse.frame,
    keep_alive: bytes = sse.KEEP_ALIVE,
) -> HttpResponseBase:
    """Answer a request with a stream of these events, which ``frame`` makes of JSON, once the first has arrived or
    `sse.KEEP_ALIVE_S` have passed. Raises AgentsError for an error before that."""
    first = asyncio.ensure_future(anext(events))
    try:
        await asyncio.wait({first}, timeout=sse.KEEP_ALIVE_S)
    except asyncio.CancelledError:
        await _stop(first, events)
        raise
    error = first.exception() if first.done() else None
    if error is not None and not isinstance(error, StopAsyncIteration):
        raise for_caller(error) if isinstance(error, ProviderError) else error
    frames = _frames(first, events, frame, keep_alive)
    return stream(_with_error(frames, request))


async def _with_error(frames: AsyncGenerator[bytes, None], request: HttpRequest | None) -> AsyncIterator[bytes]:
    try:
        async with aclosing(frames):
            async for frame in frames:
                yield frame
    except AgentsError as error:
        yield error_frame(for_caller(error) if isinstance(error, ProviderError) else error, request)


async def _frames(
    first: asyncio.Future[bytes],
    events: AsyncGenerator[bytes, None],
    frame: Callable[[bytes], bytes],
    keep_alive: bytes,
) -> AsyncGenerator[bytes, None]:
    pending = first
    try:
        while True:
            await asyncio.wait({pending}, timeout=sse.KEEP_ALIVE_S)
            if not pending.done():
                yield keep_alive
                continue
            try:
                event = pending.result()
            except StopAsyncIteration:
                return
            pending = asyncio.ensure_future(anext(events))
            yield frame(event)
    finally:
        await _stop(pending, events)


async def _stop(pending: asyncio.Future[bytes], events: AsyncGenerator[bytes, None]) -> None:
    """Cancel the pending event and close the generator, which closes the connection to the endpoint."""
    pending.cancel()
    with suppress(asyncio.CancelledError, StopAsyncIteration, AgentsError):
        await pending
    await events.aclose()
