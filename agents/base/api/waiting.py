"""Responses that are awaited or streamed, and end when the caller loses its rights."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.base import rights, sse
from agents.base.access import Actor
from agents.base.api.negotiation import error_response, for_caller
from agents.base.errors import AgentsError
from agents.base.rights import Reidentify

R = TypeVar("R", bound=HttpResponseBase)


class Awaited(HttpResponse):
    """A placeholder for a response that is awaited on the loop; ``work`` makes it."""

    def __init__(self, work: Callable[[], Awaitable[HttpResponseBase]]) -> None:
        super().__init__()
        self.work = work


async def awaited(response: Awaited, request: HttpRequest) -> HttpResponseBase:
    """Await the response of a view. What it raises becomes the response of an error."""
    try:
        return await response.work()
    except Exception as error:  # noqa: BLE001 - DRF's handler is not around this code; `for_caller` logs what is a bug
        return error_response(for_caller(error, request), request)


def _last_frame(error: AgentsError) -> bytes:
    return sse.frame(msgspec.json.encode(error.body()))


def parts_of(response: StreamingHttpResponse) -> AsyncGenerator[bytes, None]:
    """Return the parts of an asynchronous response, for whoever sends them or wraps them: Django's `streaming_content`
    would pass each through one more generator, of which a stream of tokens would have two. There is no public way."""
    parts: AsyncGenerator[bytes, None] = response._iterator  # type: ignore[attr-defined]  # private to Django, so its stubs have none; see above
    return parts


def while_allowed(
    response: R,
    actor: Actor,
    reidentify: Reidentify | None = None,
    last_frame: Callable[[AgentsError], bytes] = _last_frame,
) -> R:
    """Bind a response that is awaited or streamed to the actor's rights; any other is returned as it is. ``last_frame``
    tells the reader of a stream of events why that ends."""
    if isinstance(response, Awaited):
        response.work = partial(_await_allowed, response.work, actor, reidentify, last_frame)
    elif isinstance(response, StreamingHttpResponse) and response.is_async:
        is_event_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
        response.streaming_content = rights.parts_while_allowed(
            actor, reidentify, parts_of(response), last_frame if is_event_stream else None
        )
    return response


async def _await_allowed(
    work: Callable[[], Awaitable[HttpResponseBase]],
    actor: Actor,
    reidentify: Reidentify | None,
    last_frame: Callable[[AgentsError], bytes],
) -> HttpResponseBase:
    return while_allowed(await rights.while_allowed(actor, reidentify, work), actor, reidentify, last_frame)
