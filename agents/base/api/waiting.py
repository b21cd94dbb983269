"""Answers that take their time: they end with the rights they were asked for with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import msgspec
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.base import rights, sse
from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.base.rights import Reidentify

R = TypeVar("R", bound=HttpResponseBase)


class Awaited(HttpResponse):
    """A place for an answer that has to be waited for on the loop."""

    def __init__(self, work: Callable[[], Awaitable[HttpResponseBase]]) -> None:
        super().__init__()
        self.work = work


def while_allowed(response: R, actor: Actor, again: Reidentify | None = None) -> R:
    """The same answer; one that is waited for or streamed lasts no longer than the actor's rights."""
    if isinstance(response, Awaited):
        response.work = partial(_waited, response.work, actor, again)
    elif isinstance(response, StreamingHttpResponse) and response.is_async:
        told = response.headers.get("Content-Type", "").startswith("text/event-stream")
        parts = aiter(response.streaming_content)  # type: ignore[arg-type]  # it is asynchronous
        response.streaming_content = rights.parts_while_allowed(actor, again, parts, _last if told else None)
    return response


async def _waited(
    work: Callable[[], Awaitable[HttpResponseBase]], actor: Actor, again: Reidentify | None
) -> HttpResponseBase:
    return while_allowed(await rights.while_allowed(actor, again, work), actor, again)


def _last(error: AgentsError) -> bytes:
    return sse.frame(msgspec.json.encode(error.body()))
