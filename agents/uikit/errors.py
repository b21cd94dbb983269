"""Render errors as pages, or as JSON for a program."""

from __future__ import annotations

import sys
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.utils.translation import gettext as _

from agents.base.errors import AgentsError, InvalidRequest, NotAllowed, NotFound, Unavailable
from agents.base.store import failures
from agents.uikit.http_responses import wants_json

_TEMPLATES = {400: "uikit/errors/400.html", 403: "uikit/errors/403.html", 404: "uikit/errors/404.html"}


def json_response(request: HttpRequest, error: AgentsError) -> HttpResponse:
    """The API's error body."""
    body = error.body(getattr(request, "request_id", ""))
    return JsonResponse(body, status=error.status, headers=error.headers)


def error_page(request: HttpRequest, error: AgentsError) -> HttpResponse:
    """Render an expected error: its message on a page, or the JSON body for our scripts."""
    if wants_json(request):
        return json_response(request, error)
    template = _TEMPLATES.get(error.status, "uikit/errors/400.html" if error.status < 500 else "uikit/errors/500.html")
    response = render(request, template, {"error": error}, status=error.status)
    for name, value in error.headers.items():
        response[name] = value
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, InvalidRequest(_("This request cannot be read.")))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, NotAllowed(_("Not allowed, or the form has expired: go back and try again.")))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return render(request, "uikit/errors/403_csrf.html", status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, NotFound(_("This page does not exist.")))


def server_error(request: HttpRequest, *args: Any) -> HttpResponse:
    """Answer an unexpected error for Django, while the exception is being handled: the store is unavailable, or we
    have a bug. Uses no database: the failing request may have broken its connection."""
    unavailable = _store_unavailable(request, sys.exc_info()[1])
    error = unavailable or AgentsError(_("Server error: the server's log has the details."))
    if "text/html" not in request.headers.get("Accept", ""):
        response = json_response(request, error)
    else:
        page = get_template("uikit/errors/503.html" if unavailable else "uikit/errors/500.html").render(
            {"error": error, "request": request}
        )
        response = HttpResponse(page, status=error.status, headers=error.headers)
    response._has_been_logged = unavailable is not None  # type: ignore[attr-defined]  # what Django asks before it tells
    return response


def _store_unavailable(request: HttpRequest, error: BaseException | None) -> Unavailable | None:
    """The API's error for an unavailable store, in the reader's language; None for any other error."""
    unavailable = failures.unavailable(error, f"request={getattr(request, 'request_id', '')}") if error else None
    if unavailable is not None:
        unavailable.message = _("The server cannot reach its database, or cannot write to it. Try again in a moment.")
    return unavailable
