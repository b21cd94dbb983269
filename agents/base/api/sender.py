"""Where a request comes from."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str:
    """Where a request comes from."""
    return address_behind(request.headers, str(request.META.get("REMOTE_ADDR") or ""))


def address_behind(headers: Mapping[str, str], connected: str) -> str:
    """Where something comes from that came over a connection from the address ``connected``. Behind a proxy it is what
    that proxy saw, which it wrote last."""
    seen = headers.get("X-Forwarded-For", "").rpartition(",")[2].strip() if settings.BEHIND_TLS else ""
    return seen or connected
