"""Every exception this project raises on purpose.

::

    AgentsError                    500  server_error
    ├── InvalidRequest             400  invalid_request_error   the body, query or path is wrong
    │   └── QuerySyntax            400                          … at a position of a query text
    ├── NotAuthenticated           401  authentication_error
    ├── NotAllowed                 403  permission_error
    ├── NotFound                   404  not_found_error         absent, or not for this actor
    ├── MethodNotAllowed           405  invalid_request_error   its answer names those that are
    ├── Conflict                   409  conflict_error          a lost race, a busy session
    ├── TooLarge                   413  invalid_request_error
    ├── UrlTooLong                 414  invalid_request_error
    ├── UnsupportedMedia           415  invalid_request_error
    ├── FailedDependency           424  invalid_request_error   another server that the request needs does not answer
    ├── RateLimited                429  rate_limit_error
    ├── HeadersTooLarge            431  invalid_request_error
    ├── Unavailable                503  server_error            our own trouble; retry later
    └── ProviderError              502  server_error            a model endpoint, by its name

The API turns them into one JSON shape (`body`), the pages into a sentence. Of our modules this one imports
only `redaction`; it catches nothing.
"""

from __future__ import annotations

from typing import Any

from agents.base import redaction

MAX_MESSAGE = 2000
"""Characters of a message that are sent: it may quote text of others."""


class AgentsError(Exception):
    """The root. ``message`` is for people; ``code`` and ``param`` are for programs."""

    status = 500
    type = "server_error"
    code: str | None = None

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        detail: Any = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.param = param
        self.detail = detail
        self.headers = headers or {}

    def body(self, request_id: str = "") -> dict[str, Any]:
        """The one error body of the whole API: OpenAI's ``error`` object, and ``detail`` as text
        because older Llama Stack clients read that."""
        message = self.message if len(self.message) <= MAX_MESSAGE else f"{self.message[:MAX_MESSAGE]}…"
        error = {
            "message": message,
            "type": self.type,
            "code": self.code,
            "param": self.param,
            "detail": self.detail,
        }
        return {"error": error, "detail": message, "request_id": request_id}


class InvalidRequest(AgentsError):
    status = 400
    type = "invalid_request_error"


class QuerySyntax(InvalidRequest):
    """A query text that cannot be read. ``position`` counts characters from 0."""

    code = "query_syntax"

    def __init__(self, message: str, *, position: int, suggestion: str | None = None) -> None:
        super().__init__(message, param="q")
        self.position = position
        self.suggestion = suggestion

    def body(self, request_id: str = "") -> dict[str, Any]:
        out = super().body(request_id)
        out["error"]["position"] = self.position
        out["error"]["suggestion"] = self.suggestion
        return out


class NotAuthenticated(AgentsError):
    status = 401
    type = "authentication_error"


class NotAllowed(AgentsError):
    status = 403
    type = "permission_error"


class NotFound(AgentsError):
    status = 404
    type = "not_found_error"


class MethodNotAllowed(AgentsError):
    status = 405
    type = "invalid_request_error"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f'Method "{method[:40]}" not allowed.', headers={"Allow": allowed})


class Conflict(AgentsError):
    """A lost race or a busy session. Retrying the same request cannot help, and the SDKs are told
    so: they would otherwise repeat a 409 twice."""

    status = 409
    type = "conflict_error"

    def __init__(self, message: str, **options: Any) -> None:
        super().__init__(message, **options)
        self.headers.setdefault("x-should-retry", "false")


class TooLarge(AgentsError):
    status = 413
    type = "invalid_request_error"
    code = "body_too_large"


class UrlTooLong(AgentsError):
    status = 414
    type = "invalid_request_error"
    code = "url_too_long"


class UnsupportedMedia(AgentsError):
    status = 415
    type = "invalid_request_error"


class FailedDependency(AgentsError):
    """A server that the request says it needs does not do its part."""

    status = 424
    type = "invalid_request_error"


class RateLimited(AgentsError):
    status = 429
    type = "rate_limit_error"


class HeadersTooLarge(AgentsError):
    status = 431
    type = "invalid_request_error"
    code = "headers_too_large"


class Unavailable(AgentsError):
    status = 503

    def __init__(self, message: str, *, retry_after_s: int = 1, **options: Any) -> None:
        super().__init__(message, **options)
        self.headers.setdefault("Retry-After", str(retry_after_s))


_TYPES = {
    error.status: error.type for error in (NotAuthenticated, NotAllowed, NotFound, Conflict, RateLimited, Unavailable)
}


def type_of(status: int) -> str:
    """Return the wire's type of errors with this status."""
    return _TYPES.get(status, InvalidRequest.type if status < 500 else AgentsError.type)


class ProviderError(AgentsError):
    """A model endpoint failed. ``provider`` is its configured name, ``upstream_status`` what it
    answered (None when it did not), ``retryable`` whether a repeat before the first byte may
    help, ``retry_after_s`` what it asked for. The message may be the endpoint's own: secrets are redacted."""

    status = 502
    code = "provider_error"

    def __init__(
        self,
        message: str,
        *,
        provider: str,
        upstream_status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(redaction.redact_error(message), code=code)
        self.provider = provider
        self.upstream_status = upstream_status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
