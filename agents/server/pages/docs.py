"""The API's documentation page: its OpenAPI description as HTML, readable offline and without JavaScript."""

from __future__ import annotations

from functools import lru_cache

import msgspec
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from agents.server.pages import description
from agents.uikit.access import PageRequest, page
from agents.uikit.templates import fragment


@page("read")
def docs_page(request: PageRequest) -> HttpResponse:
    from agents.server.api import openapi  # imported at the first view, not at every start

    context = {
        "docs": rendered(openapi.description(), get_language() or ""),
        "base_url": request.build_absolute_uri("/")[:-1],
        "key_needed": settings.REQUIRE_LOGIN,
    }
    return render(request, "server/docs.html", context)


@lru_cache(maxsize=8)
def rendered(raw: bytes, language: str) -> SafeString:
    """Render a description (JSON) as HTML in the current language; cached, as it is the same for everyone."""
    api = description.read_description(msgspec.json.decode(raw))
    return fragment("server/_operations.html", api=api)
