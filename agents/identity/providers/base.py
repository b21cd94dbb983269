"""The protocol of identity providers, and the mapping of claims to attributes.

Providers run on the threads of requests, not on the loop: they block on the network, with a time limit. A token is a
secret: no error and no log may quote it.
"""

from __future__ import annotations

import json
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from agents.base.schemas.identity import CATEGORIES, Identity, TokenRequest

TIMEOUT_S = 10
MAX_RESPONSE_BYTES = 1 << 20
"""Bytes of a response that are read."""

CLAIMS: Mapping[str, str] = {
    "sub": "roles",
    "groups": "teams",
    "team": "teams",
    "project": "projects",
    "tenant": "namespaces",
    "namespace": "namespaces",
}
"""Llama Stack's default mapping (server v0.2.12), but for its ``username`` → roles: two names in one
category would let one person's username pass for another's subject."""
NAME_CLAIMS = frozenset(
    {"sub", "uid", "user_id", "oid", "username", "preferred_username", "user_name", "unique_name", "login", "upn"}
    | {"name", "nickname", "email", "client_id", "azp"}
)
"""Claims that name one person or program, who may have chosen the name. Their texts are never split."""
LIST_CLAIMS = frozenset({"scope", "scp"})
"""Claims that are lists of words by definition (RFC 6749 §3.3, RFC 8693 §4.2). Any other text is one value."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that not every database can store in a text."""


class Rejected(Exception):
    """The token is not valid; the message may be shown to its sender."""


class Unreachable(Exception):
    """The issuer cannot be reached; the message has the reason."""


class IdentityProvider(Protocol):
    """Checks tokens in one way."""

    def identify(self, token: str, request: TokenRequest) -> Identity:
        """The identity that a token belongs to. Raises Rejected, Unreachable."""
        ...


def qualified_owner(issuer: object, claim: str, name: object) -> str:
    """A name with its issuer and claim: no other issuer, claim or name gives the same text. Raises Rejected for a value
    that is no name."""
    if not _is_text(issuer) or any(map(str.isspace, issuer)) or not _is_text(name) or not name.strip():
        raise Rejected("The token does not say whose it is.")
    return f"{issuer} {claim}:{name}"


def _is_text(value: object) -> TypeGuard[str]:
    """Whether a value is a text that every database can store."""
    return isinstance(value, str) and value != "" and not _UNSTORABLE.search(value)


def attributes(claims: Mapping[str, Any], mapping: Mapping[str, str], issuer: object) -> dict[str, frozenset[str]]:
    """Map claims to attributes; a claim of another shape gives none. A name is qualified with its issuer and claim, so
    that it never equals a group or role. ``a.b`` is b inside a."""
    by_category: dict[str, frozenset[str]] = {}
    for claim, category in mapping.items():
        value = _claim_value(claims, claim)
        values = _name_values(issuer, claim, value) if is_name(claim) else _claim_values(claim, value)
        if values:
            by_category[category] = by_category.get(category, frozenset()) | values
    return by_category


def is_name(claim: str) -> bool:
    """Whether a claim names one person or program, wherever it stands: ``user.email``, ``https://…/email``."""
    return _last_part(claim) in NAME_CLAIMS


def _last_part(claim: str) -> str:
    return re.split(r"[./:]", claim)[-1].lower()


def _claim_value(claims: Mapping[str, Any], path: str) -> Any:
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _name_values(issuer: object, claim: str, value: object) -> frozenset[str]:
    try:
        return frozenset({qualified_owner(issuer, claim, value)})
    except Rejected:
        return frozenset()


def _claim_values(claim: str, value: Any) -> frozenset[str]:
    if isinstance(value, str):
        value = value.split() if _last_part(claim) in LIST_CLAIMS else [value]
    items = value if isinstance(value, list) else []
    return frozenset(item for item in items if _is_text(item) and item.strip())


def validate_mapping(raw: object) -> Mapping[str, str]:
    """Validate a mapping of claims from the settings. Raises ValueError."""
    if raw is None:
        return CLAIMS
    if not isinstance(raw, dict) or not all(category in CATEGORIES for category in raw.values()):
        raise ValueError(f"claims: an object of claim → one of {', '.join(CATEGORIES)} is needed")
    for category in set(raw.values()):
        _reject_mixed([claim for claim in raw if raw[claim] == category], category)
    return raw


def _reject_mixed(claims: Sequence[str], category: str) -> None:
    """Raise ValueError where a category has a name and other claims: a name must be alone in its category."""
    names = [claim for claim in claims if is_name(claim)]
    if names and len(claims) > 1:
        raise ValueError(
            f"claims: {' and '.join(claims)} all become {category}, and {names[0]} is a name that its bearer may "
            "have chosen; give it a category of its own, or none"
        )


def post(url: str, body: bytes, headers: Mapping[str, str], context: ssl.SSLContext | None) -> Any:
    """Post to an address of the settings; returns the JSON of the response. Raises Rejected for a refusal,
    Unreachable."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")  # noqa: S310 - the operator's
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:  # noqa: S310 - the operator's
            return json.loads(answer.read(MAX_RESPONSE_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code >= 500 or error.code == 429:
            raise Unreachable(f"it answered {error.code}") from None
        raise Rejected("The token was refused.") from None
    except (OSError, ValueError) as error:
        raise Unreachable(type(error).__name__) from None
