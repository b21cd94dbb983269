"""Remembers the callers of credentials, so that a request counts for its caller before it is authenticated.

It only decides the order of requests, never rights. Unknown or invalid credentials count for the address they come
from, so a client gains nothing by inventing a new key for each request.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

from django.conf import settings
from django.http import HttpRequest

from agents.base.access import Actor
from agents.base.api.sender import address_of
from agents.base.shares import Caller

MAX_CREDENTIALS = 10_000
"""Credentials that are remembered: the most recently used."""
CREDENTIAL_HEADERS = ("Authorization", "x-api-key", "api-key")

_callers: OrderedDict[bytes, Caller] = OrderedDict()


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller that its credentials had before, or else its address."""
    return _callers.get(_credentials_digest(request)) or ("", address_of(request))


def remember(request: HttpRequest) -> None:
    """Remember the caller that the view authenticated."""
    actor: Actor | None = getattr(request, "actor", None)
    carried = _credentials_digest(request)
    if actor is None or actor.is_anonymous or not carried:
        return
    _callers[carried] = actor.caller
    _callers.move_to_end(carried)
    if len(_callers) > MAX_CREDENTIALS:
        _callers.popitem(last=False)


def _credentials_digest(request: HttpRequest) -> bytes:
    """Return a digest of the request's credentials, empty without any."""
    credentials = [request.headers.get(name, "") for name in CREDENTIAL_HEADERS]
    credentials.append(request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))
    return blake2b("\n".join(credentials).encode(), digest_size=16).digest() if any(credentials) else b""
