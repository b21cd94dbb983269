"""The reference of the API: Swagger UI over its OpenAPI description. All other pages of the documentation are static
files (``agentsite.documentation``)."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from agents.base.errors import NotFound
from agents.uikit.access import PageRequest, page


@page("read")
def api_page(request: PageRequest) -> HttpResponse:
    return render(request, "server/docs.html", {"key_needed": settings.REQUIRE_LOGIN})


@page(None)
def not_built(request: PageRequest) -> HttpResponse:
    """Say how the documentation is built; where it is, its first page is shown in place of this one."""
    raise NotFound("The documentation is not built here. `make serve` builds it, and an installed package has it.")
