"""HTTP responses that are not pages: the answer to a form that started or changed a turn, and full values."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from agents.base.api import large_answers


def wants_json(request: HttpRequest) -> bool:
    """Whether a form was sent by a script, which wants JSON and no page."""
    return request.headers.get("Accept", "").startswith("application/json")


def turn_reply(request: HttpRequest, turn_id: str, **ids: str) -> HttpResponse:
    """Redirect to the turn's page; answer a request for JSON with the ids instead."""
    if wants_json(request):
        return JsonResponse({"turn_id": turn_id, **ids})
    return redirect("turn", turn_id)


PLAIN_HEADERS = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
"""Headers that keep a browser from rendering a body as a page."""


def plain_response(body: str | bytes, kind: str = "text/plain") -> HttpResponse:
    """Hostile text as a response that a browser never renders as a page."""
    data = body.encode(errors="replace") if isinstance(body, str) else body
    return HttpResponse(data, content_type=f"{kind}; charset=utf-8", headers=PLAIN_HEADERS)


def plain_stream(chunks: Iterable[bytes], kind: str = "text/plain") -> HttpResponseBase:
    """Stream a large hostile text as a response that a browser never renders as a page."""
    return large_answers.answer(0, chunks, content_type=f"{kind}; charset=utf-8", headers=PLAIN_HEADERS)
