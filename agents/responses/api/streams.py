"""Answers requests with a response: as a stream of frames, or as one object at its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import msgspec
from django.http.response import HttpResponseBase

from agents.base import sse
from agents.base.api.negotiation import json_response
from agents.base.api.views import stream
from agents.base.errors import AgentsError, NotFound, type_of
from agents.base.sse import FrameSender
from agents.record.schemas.events import Entry, ErrorInfo, TurnEnded
from agents.responses.runner.entries import Batches, entries_of
from agents.responses.runner.requests import StartedResponse
from agents.responses.wire.responses import response_json
from agents.responses.wire.stream import ResponseStream

FIRST_BYTE_DELAY_S = 0.1
"""How long the first byte of a stream is delayed for an endpoint's error that the model does not exist."""


def _sender(started: StartedResponse, after: int = -1) -> FrameSender[Sequence[Entry]]:
    return FrameSender(ResponseStream(started.head, after=after).feed)


def frames(started: StartedResponse, after: int = -1) -> AsyncIterator[bytes]:
    """Yield the frames of a response after the one numbered ``after``, to its end."""
    sender = _sender(started, after)
    return sse.with_keep_alive(entries_of(started, take=sender.send), sender)


async def stream_answer(started: StartedResponse) -> HttpResponseBase:
    """Answer with the stream of a response that was just started. Raises NotFound before the first byte if its
    endpoint reports at once that the model does not exist."""
    sender = _sender(started)
    batches = entries_of(started, take=sender.send)
    first: list[Sequence[Entry]] = []
    pending: asyncio.Task[Sequence[Entry]] | None = None
    deadline = asyncio.get_running_loop().time() + FIRST_BYTE_DELAY_S
    while not _has_answered(first) and (remaining_s := deadline - asyncio.get_running_loop().time()) > 0:
        pending = pending or asyncio.ensure_future(anext(batches))
        done, _ = await asyncio.wait((pending,), timeout=remaining_s)
        if not done:
            break
        try:
            first.append(pending.result())
        except StopAsyncIteration:
            break
        finally:
            pending = None
    _refuse_missing_model(started, first)
    first_frames = b"".join(map(sender.encode, first))
    return stream(sse.with_keep_alive(_rest_of(batches, pending), sender, first=first_frames))


async def _rest_of(batches: Batches, pending: asyncio.Task[Sequence[Entry]] | None) -> Batches:
    async with aclosing(batches):
        if pending is not None:
            try:
                yield await pending
            except StopAsyncIteration:
                return
        async for batch in batches:
            yield batch


def _has_answered(batches: Sequence[Sequence[Entry]]) -> bool:
    """Whether there is an entry other than the first events."""
    return any(not getattr(entry, "type", "").endswith(".started") for batch in batches for entry in batch)


def _refuse_missing_model(started: StartedResponse, batches: Sequence[Sequence[Entry]]) -> None:
    for entry in (entry for batch in batches for entry in batch):
        if isinstance(entry, TurnEnded) and entry.error and entry.error.type == "model_not_found":
            raise _missing_model(started)


def _missing_model(started: StartedResponse) -> NotFound:
    name = msgspec.json.decode(started.head.settings)["model"]
    message = f"Model '{name}' not found. Use 'client.models.list()' to list available Models."
    return NotFound(message, code="model_not_found", param="model")


async def finished(started: StartedResponse) -> ResponseStream:
    """Return a response once it is over. Raises AgentsError for one that failed, with the status of its cause."""
    encoder = ResponseStream(started.head)
    async with aclosing(entries_of(started)) as batches:
        async for batch in batches:
            encoder.feed(batch)
    if encoder.state.status == "failed" and encoder.error is not None:
        raise _failure(started, encoder.error)
    return encoder


async def response_answer(started: StartedResponse) -> HttpResponseBase:
    """Answer with the response once it is over. Raises as `finished`."""
    encoder = await finished(started)
    return json_response(response_json(started.head, encoder.state))


_STATUS = {
    "authentication_required": 401,
    "mcp_list_tools_failed": 424,
    "timeout": 504,
    "budget_reached": 429,
    "model_not_budgetable": 400,
    "invalid_request_error": 400,
    "server_error": 500,
    "storage_error": 503,
}


def _failure(started: StartedResponse, error: ErrorInfo) -> AgentsError:
    """Return the HTTP error of a failed response: an endpoint's refusal keeps its status, another failure of
    an endpoint is 502."""
    if error.type == "model_not_found":
        return _missing_model(started)
    status = _STATUS.get(error.type, 502)
    if error.upstream_status is not None and 400 <= error.upstream_status < 500:
        status = error.upstream_status if error.upstream_status in (400, 413, 429) else 502
    failure = AgentsError(error.message, code=error.type, headers={"x-should-retry": "false"})
    failure.status, failure.type = status, type_of(status)
    return failure
