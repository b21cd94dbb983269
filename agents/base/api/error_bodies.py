"""The body of an error in the words of the API that was asked: this server's own, or Anthropic's.

Anthropic's clients are known by their paths, ``/v1/messages`` and what is below it; on paths that others use too, by
the header that they all send.
"""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import HttpRequest

from agents.base import sse
from agents.base.errors import MAX_MESSAGE, AgentsError

MESSAGES_PATH = "/v1/messages"
SHARED_PATHS = ("/v1/models",)
"""Paths of which Anthropic's API has a form of its own."""
VERSION_HEADER = "anthropic-version"

_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
TOO_LONG = "prompt is too long"
"""What Anthropic says of a prompt beyond a model's context: its clients look for these words to sum up and go on."""


def speaks_anthropic(request: HttpRequest | None) -> bool:
    """Tell whether a request is of Anthropic's API."""
    if request is None:
        return False
    path = request.path_info
    return is_messages_path(path) or (VERSION_HEADER in request.headers and _is_below(path, SHARED_PATHS))


def is_messages_path(path: str) -> bool:
    """Tell whether a path is one of Anthropic's alone."""
    return _is_below(path, (MESSAGES_PATH,))


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def error_json(error: AgentsError, request: HttpRequest | None) -> bytes:
    """Encode an error for whoever sent the request."""
    request_id = getattr(request, "request_id", "")
    return msgspec.json.encode(
        anthropic_body(error, request_id) if speaks_anthropic(request) else error.body(request_id)
    )


def error_frame(error: AgentsError, request: HttpRequest | None) -> bytes:
    """Build the last frame of a stream that an error ends."""
    body = error_json(error, request)
    return sse.named_frame("error", body) if speaks_anthropic(request) else sse.frame(body)


def anthropic_body(error: AgentsError, request_id: str) -> dict[str, Any]:
    """Return the body of an error as Anthropic's API has it. A detail with an ``error_code`` is for its clients."""
    message = error.message
    if error.code == "context_length_exceeded" and TOO_LONG not in message.lower():
        message = f"{TOO_LONG}: {message}"
    if len(message) > MAX_MESSAGE:
        message = f"{message[:MAX_MESSAGE]}…"
    kind = _TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    told: dict[str, Any] = {"type": kind, "message": message}
    if isinstance(error.detail, dict) and "error_code" in error.detail:
        told["details"] = error.detail
    return {"type": "error", "error": told, "request_id": request_id}
