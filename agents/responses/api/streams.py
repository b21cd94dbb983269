"""A response as the answer of a request: its stream of frames, or drained to one object."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import msgspec
from django.http.response import HttpResponseBase

from agents.base import sse
from agents.base.api.negotiation import json_response
from agents.base.api.views import stream
from agents.base.errors import AgentsError, NotFound, type_of
from agents.record import live
from agents.record.schemas.events import Entry, ErrorInfo, TurnEnded
from agents.responses.runner.responses import Begun
from agents.responses.wire.responses import response_json
from agents.responses.wire.stream import Stream

MISSING_MODEL_S = 0.1
"""How long a stream waits with its first byte for the endpoint to say that there is no such model."""

Batches = AsyncGenerator[Sequence[Entry], None]


async def _entries(begun: Begun) -> Batches:
    """A response's entries from its first event on; an empty list is a sign of life."""
    if begun.loop is None:
        async for batch in live.follow(begun.turn, (begun.first_seq - 1, 1 << 62), until_response=begun.first_seq):
            yield batch
        return
    # it is stored nowhere: it runs here, and ends when its reader goes
    with begun.held():
        yield begun.opening
        async for entry in begun.loop.events():
            yield (entry,)


def _frames(begun: Begun, after: int, batches: Batches, first: Sequence[Sequence[Entry]]) -> AsyncIterator[bytes]:
    encoder = Stream(begun.head, after=after)
    seen = b"".join(encoder.feed(batch) for batch in first)
    return sse.with_keep_alive(batches, encoder.feed, first=seen)


def frames(begun: Begun, after: int = -1) -> AsyncIterator[bytes]:
    """The frames of a response behind the one numbered ``after``, to its end."""
    return _frames(begun, after, _entries(begun), ())


async def streamed(begun: Begun) -> HttpResponseBase:
    """The stream of a response that was just begun. Raises NotFound before the first byte when its
    endpoint says at once that it has no such model."""
    batches = _entries(begun)
    first: list[Sequence[Entry]] = []
    pending: asyncio.Task[Sequence[Entry]] | None = None
    deadline = asyncio.get_running_loop().time() + MISSING_MODEL_S
    while not _has_answered(first) and (left := deadline - asyncio.get_running_loop().time()) > 0:
        pending = pending or asyncio.ensure_future(anext(batches))
        done, _ = await asyncio.wait((pending,), timeout=left)
        if not done:
            break
        try:
            first.append(pending.result())
        except StopAsyncIteration:
            break
        finally:
            pending = None
    _refuse_missing_model(begun, first)
    return stream(_frames(begun, -1, _resumed(batches, pending), first))


async def _resumed(batches: Batches, pending: asyncio.Task[Sequence[Entry]] | None) -> Batches:
    async with aclosing(batches):
        if pending is not None:
            try:
                yield await pending
            except StopAsyncIteration:
                return
        async for batch in batches:
            yield batch


def _has_answered(batches: Sequence[Sequence[Entry]]) -> bool:
    """Whether more than the beginning has happened."""
    return any(not getattr(entry, "type", "").endswith(".started") for batch in batches for entry in batch)


def _refuse_missing_model(begun: Begun, batches: Sequence[Sequence[Entry]]) -> None:
    for entry in (entry for batch in batches for entry in batch):
        if isinstance(entry, TurnEnded) and entry.error and entry.error.type == "model_not_found":
            raise _missing_model(begun)


def _missing_model(begun: Begun) -> NotFound:
    name = msgspec.json.decode(begun.head.settings)["model"]
    words = f"Model '{name}' not found. Use 'client.models.list()' to list available Models."
    return NotFound(words, code="model_not_found", param="model")


async def drained(begun: Begun) -> HttpResponseBase:
    """The response once it is over. One whose endpoint failed is an error with the status of its
    cause."""
    encoder = Stream(begun.head)
    async with aclosing(_entries(begun)) as batches:
        async for batch in batches:
            encoder.feed(batch)
    if encoder.outcome.status == "failed" and encoder.error is not None:
        raise _failure(begun, encoder.error)
    return json_response(response_json(begun.head, encoder.outcome))


_STATUS = {
    "authentication_required": 401,
    "mcp_list_tools_failed": 424,
    "timeout": 504,
    "invalid_request_error": 400,
    "server_error": 500,
    "storage_error": 503,
}


def _failure(begun: Begun, error: ErrorInfo) -> AgentsError:
    """A failed response as an HTTP error: what the endpoint refused is refused, what it could not do
    is 502."""
    if error.type == "model_not_found":
        return _missing_model(begun)
    status = _STATUS.get(error.type, 502)
    if error.upstream_status is not None and 400 <= error.upstream_status < 500:
        status = error.upstream_status if error.upstream_status in (400, 413, 429) else 502
    failure = AgentsError(error.message, code=error.type, headers={"x-should-retry": "false"})
    failure.status, failure.type = status, type_of(status)
    return failure
