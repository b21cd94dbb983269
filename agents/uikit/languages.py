"""Store the reader's language in a cookie; without one the browser's preference decides."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from agents.base.errors import InvalidRequest
from agents.uikit.access import PageRequest, page


@page(None)
@require_POST
def choose(request: PageRequest) -> HttpResponse:
    """Set the language to ``language``; with ``back`` return to the page with the form."""
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        raise InvalidRequest(f"language: say one of {', '.join(dict(settings.LANGUAGES))}.", param="language")
    response = redirect(_target(request))
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        path=settings.LANGUAGE_COOKIE_PATH,
        samesite="Lax",
        httponly=True,
        secure=settings.LANGUAGE_COOKIE_SECURE,
    )
    return response


def _target(request: PageRequest) -> str:
    """The page that the browser came from if the form says that it can be loaded again, else the start page."""
    referer = request.headers.get("Referer", "") if "back" in request.POST else ""
    is_ours = url_has_allowed_host_and_scheme(referer, {request.get_host()}, require_https=request.is_secure())
    return referer if is_ours else settings.LOGIN_REDIRECT_URL
