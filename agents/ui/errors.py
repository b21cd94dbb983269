"""Errors as pages, or as JSON where a program asked."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.utils.translation import gettext as _

from agents.errors import AgentsError, InvalidRequest, NotAllowed, NotFound

_TEMPLATES = {400: "400.html", 403: "403.html", 404: "404.html"}


def as_json(request: HttpRequest, error: AgentsError) -> HttpResponse:
    """The API's error body."""
    body = error.body(getattr(request, "request_id", ""))
    return JsonResponse(body, status=error.status, headers=error.headers)


def error_page(request: HttpRequest, error: AgentsError) -> HttpResponse:
    """An expected error: its words on a page, or our JSON body for scripts of ours."""
    if request.headers.get("Accept", "").startswith("application/json"):
        return as_json(request, error)
    template = _TEMPLATES.get(error.status, "400.html" if error.status < 500 else "500.html")
    response = render(request, template, {"error": error}, status=error.status)
    for name, value in error.headers.items():
        response[name] = value
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, InvalidRequest(_("This request cannot be read.")))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, NotAllowed(_("This is not for you, or the form was too old: go back and try again.")))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, NotFound(_("There is no such page.")))


def server_error(request: HttpRequest, *args: Any) -> HttpResponse:
    """No database here: the failing request may have spoilt its connection."""
    error = AgentsError(_("The server made a mistake; its log knows more."))
    if "text/html" not in request.headers.get("Accept", ""):
        return as_json(request, error)
    return HttpResponse(get_template("500.html").render({"error": error}), status=500)
