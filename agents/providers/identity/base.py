"""The identity protocol, and how claims become attributes.

Called by threads of requests, not by the loop: what it asks over the network it asks blocking, with
a time limit. A token is a secret: no error and no log may quote it.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agents.schemas.identity import CATEGORIES, GRANTING_ROLES, Asked, Identity

TIMEOUT_S = 10
ANSWER = 1 << 20
"""Bytes of an answer that are read."""

CLAIMS: Mapping[str, str] = {
    "sub": "roles",
    "username": "roles",
    "groups": "teams",
    "team": "teams",
    "project": "projects",
    "tenant": "namespaces",
    "namespace": "namespaces",
}
"""Llama Stack's default mapping (server v0.2.12)."""
NAMES = frozenset({"sub", "username", "preferred_username", "email"})
"""Claims that a person may have chosen: a user called admin is no admin."""


class Rejected(Exception):
    """The token is not good; the words may be told to whoever sent it."""


class Unreachable(Exception):
    """The issuer cannot be asked now; says why."""


class IdentityProvider(Protocol):
    """One way to check a token."""

    def identify(self, token: str, asked: Asked) -> Identity:
        """Raises Rejected, Unreachable."""
        ...


def attributes(claims: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The attributes that claims stand for. A claim is a list or words; ``a.b`` is b inside a."""
    found: dict[str, frozenset[str]] = {}
    for claim, category in mapping.items():
        values = frozenset(_values(_inside(claims, claim)))
        if claim in NAMES:
            values -= GRANTING_ROLES
        if values:
            found[category] = found.get(category, frozenset()) | values
    return found


def _inside(claims: Mapping[str, Any], path: str) -> Any:
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _values(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def checked_mapping(raw: object) -> Mapping[str, str]:
    """A mapping of claims from the settings. Raises ValueError."""
    if raw is None:
        return CLAIMS
    if not isinstance(raw, dict) or not all(category in CATEGORIES for category in raw.values()):
        raise ValueError(f"claims: an object of claim → one of {', '.join(CATEGORIES)} is needed")
    return raw


def post(url: str, body: bytes, headers: Mapping[str, str], context: ssl.SSLContext | None) -> Any:
    """The JSON an address of the settings answers with. Raises Rejected for a refusal, Unreachable."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")  # noqa: S310 - the operator's
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310 - the operator's
            return json.loads(answer.read(ANSWER))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code >= 500 or error.code == 429:
            raise Unreachable(f"it answered {error.code}") from None
        raise Rejected("The token was refused.") from None
    except (OSError, ValueError) as error:
        raise Unreachable(type(error).__name__) from None
