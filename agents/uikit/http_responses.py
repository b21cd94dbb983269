"""Answers that are no pages: what a form that started or changed a turn is told, and whole values."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from agents.base.api import large_answers


def turn_reply(request: HttpRequest, turn_id: str, **ids: str) -> HttpResponse:
    """Lead to the turn's page; where JSON was asked for, tell the ids instead."""
    if request.headers.get("Accept", "").startswith("application/json"):
        return JsonResponse({"turn_id": turn_id, **ids})
    return redirect("turn", turn_id)


PLAIN = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
"""Headers under which nothing is taken for a page."""


def plain(body: str | bytes, kind: str = "text/plain") -> HttpResponse:
    """Hostile text by itself: never a page, whatever it looks like."""
    data = body.encode(errors="replace") if isinstance(body, str) else body
    return HttpResponse(data, content_type=f"{kind}; charset=utf-8", headers=PLAIN)


def plain_pieces(pieces: Iterable[bytes], kind: str = "text/plain") -> HttpResponseBase:
    """The same of a text that may be large."""
    return large_answers.answer(0, pieces, content_type=f"{kind}; charset=utf-8", headers=PLAIN)
