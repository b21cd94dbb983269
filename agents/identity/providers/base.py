"""The identity protocol, and how claims become attributes.

Called by threads of requests, not by the loop: what it asks over the network it asks blocking, with
a time limit. A token is a secret: no error and no log may quote it.
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
ANSWER = 1 << 20
"""Bytes of an answer that are read."""

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
NAMES = frozenset(
    {"sub", "uid", "user_id", "oid", "username", "preferred_username", "user_name", "unique_name", "login", "upn"}
    | {"name", "nickname", "email", "client_id", "azp"}
)
"""Claims that name one person or program, who may have chosen it. Their texts are taken whole."""
LISTS = frozenset({"scope", "scp"})
"""Claims that are lists of words by definition (RFC 6749 §3.3, RFC 8693 §4.2). Any other text is one value."""

_UNKEPT = re.compile("[\0\ud800-\udfff]")
"""What not every database keeps in a text."""


class Rejected(Exception):
    """The token is not good; the words may be told to whoever sent it."""


class Unreachable(Exception):
    """The issuer cannot be asked now; says why."""


class IdentityProvider(Protocol):
    """One way to check a token."""

    def identify(self, token: str, asked: TokenRequest) -> Identity:
        """Raises Rejected, Unreachable."""
        ...


def owner_of(issuer: object, claim: str, name: object) -> str:
    """Whom a name means, in full: no other issuer, claim or name reads the same. Raises Rejected for
    what is no name."""
    if not _is_text(issuer) or any(map(str.isspace, issuer)) or not _is_text(name) or not name.strip():
        raise Rejected("The token does not say whose it is.")
    return f"{issuer} {claim}:{name}"


def _is_text(value: object) -> TypeGuard[str]:
    """Whether a value is a text that every database keeps."""
    return isinstance(value, str) and value != "" and not _UNKEPT.search(value)


def attributes(claims: Mapping[str, Any], mapping: Mapping[str, str], issuer: object) -> dict[str, frozenset[str]]:
    """The attributes that claims stand for; a claim of another shape stands for none. A name stands for
    its owner, so it is never the value of a group or role. ``a.b`` is b inside a."""
    found: dict[str, frozenset[str]] = {}
    for claim, category in mapping.items():
        value = _inside(claims, claim)
        values = _named(issuer, claim, value) if is_name(claim) else _values(claim, value)
        if values:
            found[category] = found.get(category, frozenset()) | values
    return found


def is_name(claim: str) -> bool:
    """Whether a claim names one person or program, wherever it stands: ``user.email``, ``https://…/email``."""
    return _last(claim) in NAMES


def _last(claim: str) -> str:
    return re.split(r"[./:]", claim)[-1].lower()


def _inside(claims: Mapping[str, Any], path: str) -> Any:
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _named(issuer: object, claim: str, value: object) -> frozenset[str]:
    try:
        return frozenset({owner_of(issuer, claim, value)})
    except Rejected:
        return frozenset()


def _values(claim: str, value: Any) -> frozenset[str]:
    if isinstance(value, str):
        value = value.split() if _last(claim) in LISTS else [value]
    given = value if isinstance(value, list) else []
    return frozenset(one for one in given if _is_text(one) and one.strip())


def checked_mapping(raw: object) -> Mapping[str, str]:
    """A mapping of claims from the settings. Raises ValueError."""
    if raw is None:
        return CLAIMS
    if not isinstance(raw, dict) or not all(category in CATEGORIES for category in raw.values()):
        raise ValueError(f"claims: an object of claim → one of {', '.join(CATEGORIES)} is needed")
    for category in set(raw.values()):
        _refuse_mixed([claim for claim in raw if raw[claim] == category], category)
    return raw


def _refuse_mixed(claims: Sequence[str], category: str) -> None:
    """A category that holds a name holds nothing else."""
    names = [claim for claim in claims if is_name(claim)]
    if names and len(claims) > 1:
        raise ValueError(
            f"claims: {' and '.join(claims)} all become {category}, and {names[0]} is a name that its bearer may "
            "have chosen; give it a category of its own, or none"
        )


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
