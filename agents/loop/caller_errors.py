"""Translates errors of an endpoint to errors for the caller whose request was relayed to it.

If the endpoint calls the request invalid, its status and message are passed on, since the caller can
correct it. If the endpoint refuses *this server* (a wrong key), the caller gets a 502.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agents.base.errors import AgentsError, ProviderError, type_of

PASSED_ON = frozenset({400, 404, 409, 413, 415, 429})


@contextmanager
def errors_for_caller() -> Iterator[None]:
    """Raise a ProviderError of the block as the error for the caller."""
    try:
        yield
    except ProviderError as error:
        raise for_caller(error) from error


def for_caller(error: ProviderError) -> AgentsError:
    """Return the error for the caller: the same message, with the status for the caller."""
    status = _status(error)
    out = AgentsError(error.message, code=error.code)
    out.status, out.type = status, type_of(status)
    if status < 500:
        out.headers["x-should-retry"] = "false"
    if error.retry_after_s is not None:
        out.headers["Retry-After"] = str(max(1, round(error.retry_after_s)))
    return out


def _status(error: ProviderError) -> int:
    if error.code == "timeout":
        return 504
    if error.code == "model_not_found":
        return 404
    status = error.upstream_status
    if status == 422:
        return 400
    return status if status in PASSED_ON else error.status
