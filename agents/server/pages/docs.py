"""The API's documentation page: Swagger UI over the OpenAPI description."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from agents.uikit.access import PageRequest, page


@page("read")
def docs_page(request: PageRequest) -> HttpResponse:
    return render(request, "server/docs.html", {"key_needed": settings.REQUIRE_LOGIN})
