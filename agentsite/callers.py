"""Whose a request is, before anybody has looked: what it carries says so, if it was good before.

Only who goes first is decided by it, never what somebody may do. What is carried for the first time, and what
never was good, counts as the address it comes from: whoever makes up a new key for each request gains nothing.
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
"""Credentials that are remembered, those that were used last."""
CREDENTIAL_HEADERS = ("Authorization", "x-api-key", "api-key")

_callers: OrderedDict[bytes, Caller] = OrderedDict()


def caller_of(request: HttpRequest) -> Caller:
    """Who asks, as far as can be told."""
    return _callers.get(_credentials_digest(request)) or ("", address_of(request))


def remember(request: HttpRequest) -> None:
    """Whose it was, as the view found out."""
    actor: Actor | None = getattr(request, "actor", None)
    carried = _credentials_digest(request)
    if actor is None or actor.is_anonymous or not carried:
        return
    _callers[carried] = actor.caller
    _callers.move_to_end(carried)
    if len(_callers) > MAX_CREDENTIALS:
        _callers.popitem(last=False)


def _credentials_digest(request: HttpRequest) -> bytes:
    """A digest of the credentials; nothing of none."""
    credentials = [request.headers.get(name, "") for name in CREDENTIAL_HEADERS]
    credentials.append(request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""))
    return blake2b("\n".join(credentials).encode(), digest_size=16).digest() if any(credentials) else b""
