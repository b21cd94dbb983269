"""Decides who may open a socket: checks Host and Origin first, then the actor.

A page's socket carries cookies, so its Origin must be ours: any page of the web can open a socket
here with them. A program sends a key and no cookies; it needs no Origin.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, parse_cookie
from django.http.request import split_domain_port, validate_host
from django.utils import translation

from agents.base.access import ANONYMOUS, Actor
from agents.base.errors import AgentsError, Unavailable
from agents.base.schemas.identity import TokenRequest
from agents.base.store import failures, keys, tokens

Scope = dict[str, Any]


def header(scope: Scope, name: bytes) -> str:
    """Return a header's value, empty when absent."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value.decode("latin-1"))
    return ""


def is_allowed(scope: Scope) -> bool:
    """Return whether Host and Origin are ours."""
    host = header(scope, b"host")
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    origin = header(scope, b"origin")
    if not origin:
        return not header(scope, b"cookie")
    return origin in {f"http://{host}", f"https://{host}", *settings.TRUSTED_ORIGINS}


class OriginGuard:
    """Refuses handshakes from other origins with 403."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> Any:
        if is_allowed(scope):
            return await self.application(scope, receive, send)
        await receive()
        await send({"type": "websocket.close", "code": 4403})
        return None


TRY_AGAIN_LATER = 1013
"""Close code of a server that is overloaded or in trouble (IANA's registry of close codes)."""


class StoreFailureGuard:
    """Closes a socket with `TRY_AGAIN_LATER` when the store fails while it is opened."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> Any:
        accepted = False

        async def tracked_send(message: dict[str, Any]) -> None:
            nonlocal accepted
            accepted = accepted or message["type"] == "websocket.accept"
            await send(message)

        try:
            return await self.application(scope, receive, tracked_send)
        except Exception as error:
            if not isinstance(error, Unavailable) and failures.unavailable(error, scope["path"]) is None:
                raise
        if not accepted:  # a handshake that is refused has no code
            await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})


def language_of(scope: Scope) -> str:
    """Return the language of the page that opened a socket, by the same rules as for the page."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = header(scope, b"accept-language")
    request.COOKIES.update(parse_cookie(header(scope, b"cookie")))
    return translation.get_language_from_request(request)


def actor_of(scope: Scope) -> Actor:
    """Return the actor of a socket: of an API key, a token, the logged-in user, or the local one. Reads tables.
    Raises Unavailable where it cannot be determined now."""
    scheme, _, secret = header(scope, b"authorization").partition(" ")
    secret = secret.strip() if scheme.lower() == "bearer" else ""
    try:
        if secret.startswith(keys.PREFIX):
            return keys.of_secret(secret)
        if secret and tokens.has_provider():
            return tokens.actor_of(secret, TokenRequest(scope["path"]))
    except Unavailable:
        raise
    except AgentsError:
        return ANONYMOUS
    user = scope.get("user")
    if user is not None and user.is_authenticated:
        return keys.of_user_id(user.pk) or ANONYMOUS
    return ANONYMOUS if settings.REQUIRE_LOGIN else keys.local()
