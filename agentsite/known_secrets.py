"""Collects the secrets of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from django.conf import settings

from agents.base import redaction

_SECRET_FIELDS = ("client_secret", "api_key", "token", "password")


def of_settings() -> Iterator[str]:
    """Yield all secrets of the settings; some may be empty."""
    yield from (settings.SECRET_KEY, settings.ID_SECRET, settings.OPENAI_API_KEY)
    yield settings.METRICS_TOKEN
    yield from (settings.BRAVE_SEARCH_API_KEY, settings.TAVILY_SEARCH_API_KEY)
    yield str(settings.DATABASES["default"].get("PASSWORD") or "")
    yield from redaction.secrets_in_url(settings.OPENAI_BASE_URL)
    for raw in (*settings.MODEL_ENDPOINTS.values(), *settings.MCP_SERVERS.values(), settings.AUTH_PROVIDER):
        if isinstance(raw, dict):
            yield from _of_server(raw)
    yield from redaction.secrets_in_url(settings.OTLP_EXPORT_ENDPOINT)
    pairs = (pair.partition("=") for pair in settings.OTLP_EXPORT_HEADERS.split(","))
    yield from redaction.secrets_in_headers({name: unquote(value.strip()) for name, _, value in pairs})


def _of_server(raw: dict[str, Any]) -> Iterator[str]:
    """Yield the secrets of a remote server's settings: in its URLs, keys and headers."""
    for name in ("base_url", "url", "uri"):
        yield from redaction.secrets_in_url(str(raw.get(name) or ""))
    yield from (str(raw.get(name) or "") for name in _SECRET_FIELDS)
    headers = raw.get("headers")
    if isinstance(headers, dict):
        yield from redaction.secrets_in_headers({str(name): str(value) for name, value in headers.items()})
