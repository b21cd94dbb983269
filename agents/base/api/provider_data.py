"""Reads the caller's data for providers: the header ``X-LlamaStack-Provider-Data``, a JSON object as text.

It holds secrets (keys, headers of MCP servers): read here once, handed to the run, never stored,
never logged, and an error names the wrong key only.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpRequest

from agents.base.errors import InvalidRequest
from agents.base.forwarded_headers import HEADERS_KEY, validate_headers

HEADER = "X-LlamaStack-Provider-Data"


def provider_data(request: HttpRequest) -> dict[str, Any]:
    """Decode the header of a request. Raises InvalidRequest."""
    return read_provider_data(request.headers.get(HEADER, ""))


def read_provider_data(raw: str) -> dict[str, Any]:
    """Decode the header's value. One that is no JSON object counts as absent, as it does upstream: clients send it
    with every request. Raises InvalidRequest for headers in it that could not be sent."""
    value = _decoded(raw)
    by_url = value.get(HEADERS_KEY) or {}
    if not isinstance(by_url, dict):
        raise InvalidRequest(f"{HEADER}: {HEADERS_KEY} must be an object of URLs.", param=HEADER)
    for headers in by_url.values():
        validate_headers(headers, f"{HEADER}: {HEADERS_KEY}")
    return value


def _decoded(raw: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(raw or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}
