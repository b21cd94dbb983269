"""Remembers the callers of credentials, so that a request counts for its caller before it is authenticated.

It only decides the order of requests, never rights. Unknown or invalid credentials count for the address they come
from, so a client gains nothing by inventing a new key for each request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b

from agents.base.access import Actor
from agents.base.shares import Caller

MAX_CREDENTIALS = 10_000
"""Credentials that are remembered: the most recently used."""
CREDENTIAL_HEADERS = ("Authorization", "x-api-key", "api-key")

_callers: OrderedDict[bytes, Caller] = OrderedDict()


def caller_of(digest: bytes, address: str) -> Caller:
    """Return the caller that credentials with this digest had before, or else the address."""
    return _callers.get(digest) or ("", address)


def remember(digest: bytes, actor: Actor | None) -> None:
    """Remember the caller whose credentials were accepted."""
    if actor is None or actor.is_anonymous or not digest:
        return
    _callers[digest] = actor.caller
    _callers.move_to_end(digest)
    if len(_callers) > MAX_CREDENTIALS:
        _callers.popitem(last=False)


def digest_of(headers: Mapping[str, str], session: str = "") -> bytes:
    """Return a digest of the credentials in headers and of the cookie of a session, empty without any."""
    credentials = [*(headers.get(name, "") for name in CREDENTIAL_HEADERS), session]
    return blake2b("\n".join(credentials).encode(), digest_size=16).digest() if any(credentials) else b""
