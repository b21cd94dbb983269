"""What can go wrong between a program and a server's log: each error says what the server said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class TurnlogError(Exception):
    """The server refused, or did not answer. ``status`` is that of HTTP, 0 without an answer; ``code`` and ``param``
    (the field that is wrong) are for programs, ``details`` the whole error as the server sent it: of a query
    ``position`` and ``suggestion``, too. ``request_id`` finds the request in the server's own log, ``retry_after_s``
    is what the server asked to wait."""

    def __init__(
        self, message: str, status: int, details: Mapping[str, Any], request_id: str, retry_after_s: float | None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.details = message, status, details
        self.request_id, self.retry_after_s = request_id, retry_after_s

    @property
    def code(self) -> str | None:
        return self.details.get("code")

    @property
    def param(self) -> str | None:
        return self.details.get("param")


class InvalidRequest(TurnlogError):
    """400: ``param`` is what is wrong."""


class NotAuthenticated(TurnlogError):
    """401: no key, or one that is not known."""


class NotAllowed(TurnlogError):
    """403: the key may not do this."""


class NotFound(TurnlogError):
    """404: it is not there, or not for this key."""


class Conflict(TurnlogError):
    """409: something else came first."""


class RateLimited(TurnlogError):
    """429: too much, or a budget is reached (its code is ``insufficient_quota``)."""


class Unreachable(TurnlogError):
    """There was no whole answer from ``url``: nothing listens there, it took too long, or the connection broke."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} does not answer: {reason}", 0, {}, "", None)
        self.url, self.reason = url, reason


_KINDS: dict[int, type[TurnlogError]] = {
    400: InvalidRequest,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    429: RateLimited,
}


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> TurnlogError:
    """Return what an answer that is no success says; one that is not from a Turnlog server says its beginning."""
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    details = content.get("error") if isinstance(content, dict) else None
    if not isinstance(details, dict):
        details = {"message": f"{status}: {body[:200].decode(errors='replace')}"}
    request_id = headers.get("x-request-id", "")
    wait = headers.get("retry-after", "")
    wait_s = float(wait) if wait.isascii() and wait.isdecimal() else None
    kind = _KINDS.get(status, TurnlogError)
    return kind(str(details.get("message") or status), status, details, request_id, wait_s)
