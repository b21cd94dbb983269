"""Runs a request of a batch: through the view of its endpoint, as if its owner had just sent it.

The view identifies nobody: it is told who asks. Everything else is as for a request over HTTP: what is checked, whose
turn it is, what is counted and logged, and what an error looks like.
"""

from __future__ import annotations

import secrets
from functools import cache
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve

from agents.base import log_context, shares
from agents.base.access import Actor
from agents.base.api.not_found import UnknownPathView
from agents.base.api.views import ApiView, Awaited
from agents.base.api.waiting import awaited
from agents.base.reading import read
from agents.batches.store.work import LineAnswer
from agents.batches.wire import lines as wire

AGAIN = frozenset({"too_many_turns", "too_many_streams"})
"""Codes of refusals that are none of the request's: it is made again later."""


def view_of(endpoint: str) -> type[ApiView] | None:
    """Return the view of an endpoint; None where this server does without it."""
    try:
        view: Any = getattr(resolve(endpoint).func, "cls", None)
    except Resolver404:
        return None
    return view if issubclass(view or UnknownPathView, ApiView) and view is not UnknownPathView else None


async def ask(actor: Actor, endpoint: str, body: bytes, key: str) -> LineAnswer | None:
    """Make a request; ``key`` tells it from all others, so that one which is made again after its process died finds
    what it had begun. None where it has to be made again later."""
    log_context.begin(request=key)
    shares.caller.set(actor.caller)
    request = _LineRequest(actor, endpoint, body, key)
    response = await _answered(request)
    content = await _content(response)
    status = response.status_code
    if status == 503 or (status == 429 and _code(content) in AGAIN):
        return None
    answer = wire.answer_json(status, request.request_id, content)
    return LineAnswer(status, answer, wire.usage_of(content))


class _LineRequest(HttpRequest):
    """A request as if the actor had just sent it."""

    def __init__(self, actor: Actor, endpoint: str, body: bytes, key: str) -> None:
        super().__init__()
        self.sent_for, self.request_id = actor, secrets.token_hex(16)
        self.method = "POST"
        self.path = self.path_info = endpoint
        self.META = {
            "REQUEST_METHOD": "POST",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_IDEMPOTENCY_KEY": key,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
        }
        self.content_type, self.content_params = "application/json", {}
        self._body = body  # what Django keeps of a body that was read


async def _answered(request: _LineRequest) -> HttpResponseBase:
    response: HttpResponseBase = await read(_told_who_asks(request.path), request)
    return await awaited(response, request) if isinstance(response, Awaited) else response


@cache
def _told_who_asks(endpoint: str) -> Any:
    view = view_of(endpoint) or UnknownPathView
    told: Any = type(view.__name__, (view,), {"identify": staticmethod(lambda request: request.sent_for)})
    return told.as_view()


async def _content(response: HttpResponseBase) -> bytes:
    try:
        if isinstance(response, StreamingHttpResponse):
            return b"".join([part async for part in response])
        return response.content if isinstance(response, HttpResponse) else b""
    finally:
        response.close()


class _Error(msgspec.Struct):
    code: str | None = None


class _ErrorBody(msgspec.Struct):
    error: _Error | None = None


def _code(content: bytes) -> str | None:
    try:
        error = msgspec.json.decode(content, type=_ErrorBody).error
    except ValueError:
        return None
    return error.code if error else None
