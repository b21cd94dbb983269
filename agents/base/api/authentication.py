"""Authenticates the requests of ``/v1``. Cookies are never read here."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial

from django.conf import settings
from django.http import HttpRequest

from agents.base.access import ANONYMOUS, Action, Actor, require
from agents.base.api.error_bodies import speaks_anthropic
from agents.base.errors import NotAuthenticated
from agents.base.schemas.identity import TokenRequest
from agents.base.store import keys, tokens

KEY_HEADER = "x-api-key"
"""The header in which Anthropic's clients send their key."""
SECRETS = frozenset({"authorization", "cookie", KEY_HEADER, "x-llamastack-provider-data"})
"""Headers that an identity provider does not get."""


def actor_of(request: HttpRequest) -> Actor:
    """Return the actor of an API request. Raises NotAuthenticated for an invalid key or token."""
    return actor_of_header(authorization_of(request), partial(token_request_of, request))


def authorization_of(request: HttpRequest) -> str:
    """Return the ``Authorization`` header of an API request. Where Anthropic's API is spoken, a key in a header of its
    own counts as one."""
    authorization = request.headers.get("Authorization", "")
    if not _bearer(authorization) and speaks_anthropic(request) and (key := request.headers.get(KEY_HEADER)):
        return f"Bearer {key}"
    return authorization


def token_request_of(request: HttpRequest) -> TokenRequest:
    """Return what an identity provider gets of a request: all but its secrets."""
    headers = {name: value for name, value in request.headers.items() if name.lower() not in SECRETS}
    return TokenRequest(request.path, headers, {name: str(value) for name, value in request.GET.items()})


def actor_of_header(authorization: str, request: Callable[[], TokenRequest]) -> Actor:
    """Return the actor of an ``Authorization`` header of a request. A Bearer that is not one of our keys is a token
    where an identity provider is configured, and counts as none elsewhere (clients send ``none``, …)."""
    secret = _bearer(authorization)
    if secret.startswith(keys.PREFIX):
        return keys.of_secret(secret)
    if secret and tokens.has_provider():
        return tokens.actor_of(secret, request())
    return ANONYMOUS if settings.REQUIRE_LOGIN else keys.local()


def _bearer(authorization: str) -> str:
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def reidentifier(authorization: str, token_request: Callable[[], TokenRequest]) -> Callable[[], Actor] | None:
    """Return a function that identifies the token of an ``Authorization`` header again; None where it has none."""
    secret = _bearer(authorization)
    if not secret or secret.startswith(keys.PREFIX) or not tokens.has_provider():
        return None
    return partial(tokens.actor_of, secret, token_request())


def actor_of_sender(headers: Mapping[str, str], path: str) -> Actor:
    """Return the actor of a program that reports traces, by its headers, whose names have no case, and by the path that
    it reports to. Exporters put the key into different headers, some percent-encoded. Raises NotAuthenticated."""
    authorization = headers.get("Authorization", "").replace("%20", " ", 1)
    plain = headers.get("x-api-key") or headers.get("api-key") or headers.get("api_key") or ""
    if authorization.lower().startswith("basic "):
        plain, authorization = _password(authorization[6:]), ""
    if not authorization and plain:
        authorization = f"Bearer {plain}"
    return actor_of_header(authorization, partial(TokenRequest, path, {}, {}))


def _password(encoded: str) -> str:
    """Return the password of Basic credentials; '' where they cannot be decoded."""
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except (ValueError, UnicodeDecodeError):
        return ""


def admit(actor: Actor, action: Action) -> None:
    """Raise NotAuthenticated for an anonymous caller, NotAllowed for one without this right."""
    if actor.is_anonymous:
        raise refuse(actor)
    require(actor, action)


def refuse(actor: Actor) -> NotAuthenticated:
    """Return the error for an anonymous caller."""
    return NotAuthenticated(
        "Authentication required: send an API key as 'Authorization: Bearer ask_…'.",
        code="missing_api_key",
        headers={"WWW-Authenticate": "Bearer"},
    )
