"""Streams events from an endpoint to the caller, while the request is open.

An error before the first event becomes an HTTP status; a later one becomes the last frame of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

import msgspec
from django.http.response import HttpResponseBase

from agents.base import sse
from agents.base.api.views import stream
from agents.base.errors import AgentsError, ProviderError
from agents.loop.caller_errors import for_caller


async def event_stream(events: AsyncGenerator[bytes, None], request_id: str = "") -> HttpResponseBase:
    """Answer with a stream of these events (JSON), once the first has arrived or `sse.KEEP_ALIVE_S` have
    passed. Raises AgentsError for an error before that."""
    first = asyncio.ensure_future(anext(events))
    try:
        await asyncio.wait({first}, timeout=sse.KEEP_ALIVE_S)
    except asyncio.CancelledError:
        await _stop(first, events)
        raise
    error = first.exception() if first.done() else None
    if error is not None and not isinstance(error, StopAsyncIteration):
        raise for_caller(error) if isinstance(error, ProviderError) else error
    return stream(_frames(first, events, request_id))


async def _frames(
    first: asyncio.Future[bytes], events: AsyncGenerator[bytes, None], request_id: str
) -> AsyncIterator[bytes]:
    pending = first
    try:
        while True:
            await asyncio.wait({pending}, timeout=sse.KEEP_ALIVE_S)
            if not pending.done():
                yield sse.KEEP_ALIVE
                continue
            try:
                event = pending.result()
            except StopAsyncIteration:
                return
            pending = asyncio.ensure_future(anext(events))
            yield sse.frame(event)
    except AgentsError as error:
        caller_error = for_caller(error) if isinstance(error, ProviderError) else error
        yield sse.frame(msgspec.json.encode(caller_error.body(request_id)))
    finally:
        await _stop(pending, events)


async def _stop(pending: asyncio.Future[bytes], events: AsyncGenerator[bytes, None]) -> None:
    """Cancel the pending event and close the generator, which closes the connection to the endpoint."""
    pending.cancel()
    with suppress(asyncio.CancelledError, StopAsyncIteration, AgentsError):
        await pending
    await events.aclose()
