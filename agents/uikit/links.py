"""Addresses of this server's own pages: where they are behind a proxy, and what others call them.

A server that is reached below a path of its host (``PUBLIC_URL=https://example.org/turnlog``) has that path before each
of its links. Templates write ``{{ root }}/logs/`` or ``url_for("logs")``, code `at` or `url_for`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.urls import get_script_prefix, reverse


def at(path: str) -> str:
    """Return the link to a path of the URL tables, which begins with a slash."""
    return f"{settings.URL_PREFIX}{path}"


def url_for(name: str, *args: Any) -> str:
    """Return the link to a view by its name."""
    return at(path_of(name, *args))


def path_of(name: str, *args: Any) -> str:
    """Return the path of a view in the URL tables. Raises NoReverseMatch."""
    # Django's has the prefix in the threads of requests, and none in those that render for sockets
    return reverse(name, args=args)[len(get_script_prefix()) - 1 :]


def with_params(url: str, params: Mapping[str, object], fragment: str = "") -> str:
    """Return a link with a query string, if there are parameters, and a fragment."""
    return f"{url}?{urlencode(params)}{fragment}" if params else f"{url}{fragment}"


def base_url(request: HttpRequest) -> str:
    """Return this server's address for programs, without a slash at its end: that of the settings, or else the one by
    which the request came."""
    return settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}{settings.URL_PREFIX}"
