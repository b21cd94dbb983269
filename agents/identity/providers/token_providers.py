"""The three identity providers: signatures checked with published keys (OpenID Connect), the issuer's introspection
(RFC 7662), and an endpoint of the operator's own (as Llama Stack's ``custom``)."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.base.schemas.identity import CATEGORIES, Identity, TokenRequest
from agents.identity.providers.base import (
    TIMEOUT_S,
    IdentityProvider,
    Rejected,
    Unreachable,
    attributes,
    post,
    qualified_owner,
    validate_mapping,
)

SIGNATURE_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Only algorithms with a private key: with a shared secret, everyone who can verify could also sign."""


@dataclass(frozen=True, slots=True)
class JwksEndpoint:
    """The address of published keys (JWKS). Keys are cached for ``recheck_s``; an unknown key id fetches them again at
    once."""

    url: str
    recheck_s: int = 3600
    headers: Mapping[str, str] = field(default_factory=dict)
    context: ssl.SSLContext | None = None


class JwksProvider:
    """Checks JWTs that are signed by one of the published keys of an issuer."""

    def __init__(
        self, endpoint: JwksEndpoint, *, audience: str, issuer: str | None, mapping: Mapping[str, str]
    ) -> None:
        import jwt  # with its cryptography it costs memory that most servers need not spend

        self._jwt = jwt
        self._keys = jwt.PyJWKClient(
            endpoint.url,
            lifespan=endpoint.recheck_s,
            headers=dict(endpoint.headers),
            timeout=TIMEOUT_S,
            ssl_context=endpoint.context,
        )
        self._url, self._audience, self._issuer, self._mapping = endpoint.url, audience, issuer, mapping

    def identify(self, token: str, request: TokenRequest) -> Identity:
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            required = ["exp", "sub", *(["iss"] if self._issuer else [])]
            claims = self._jwt.decode(
                token,
                key,
                algorithms=list(SIGNATURE_ALGORITHMS),
                audience=self._audience,
                issuer=self._issuer,
                options={"require": required},
                leeway=10,
            )
        except self._jwt.PyJWKClientConnectionError as error:
            raise Unreachable("its keys cannot be fetched") from error
        except self._jwt.ExpiredSignatureError as error:
            raise Rejected("The token has expired.") from error
        except (self._jwt.PyJWTError, ValueError, TypeError) as error:
            raise Rejected("The token is not valid here.") from error
        return self._identity(claims)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        name, issuer = claims["sub"], claims.get("iss", self._url)
        owner = qualified_owner(issuer, "sub", name)
        return Identity(name, owner, attributes(claims, self._mapping, issuer), float(claims["exp"]))


class IntrospectionProvider:
    """Checks tokens of any kind by asking their issuer (RFC 7662)."""

    def __init__(
        self,
        url: str,
        *,
        client_id: str,
        client_secret: str,
        in_body: bool,
        mapping: Mapping[str, str],
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._url, self._mapping, self._context = url, mapping, context
        self._body = {"client_id": client_id, "client_secret": client_secret} if in_body else {}
        basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self._headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if not in_body:
            self._headers["Authorization"] = f"Basic {basic}"

    def identify(self, token: str, request: TokenRequest) -> Identity:
        body = urllib.parse.urlencode({"token": token, **self._body}).encode()
        try:
            claims = post(self._url, body, self._headers, self._context)
        except Rejected as error:
            raise Unreachable("it refuses this server's client id or secret") from error
        if not isinstance(claims, dict) or claims.get("active") is not True:
            raise Rejected("The token is not active.")
        return self._identity(claims)

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        claim = next((claim for claim in ("sub", "username", "client_id") if claims.get(claim) is not None), "sub")
        name, issuer = claims.get(claim), claims.get("iss", self._url)
        owner = qualified_owner(issuer, claim, name)
        expires = claims.get("exp")
        until = float(expires) if isinstance(expires, int | float) else None
        return Identity(str(name), owner, attributes(claims, self._mapping, issuer), until)


class CustomProvider:
    """Checks tokens by sending them with the request to an address, which answers with the identity."""

    def __init__(self, url: str, context: ssl.SSLContext | None = None) -> None:
        self._url, self._context = url, context

    def identify(self, token: str, request: TokenRequest) -> Identity:
        payload = {"path": request.path, "headers": dict(request.headers), "params": dict(request.params)}
        body = json.dumps({"api_key": token, "request": payload}).encode()
        answer = post(self._url, body, {"Content-Type": "application/json"}, self._context)
        if not isinstance(answer, dict):
            raise Rejected("The token was refused.")
        name, reported = answer.get("principal"), answer.get("attributes")
        owner = qualified_owner(self._url, "principal", name)
        claims = reported if isinstance(reported, dict) else {}
        mapping = {category: category for category in CATEGORIES}
        return Identity(str(name), owner, attributes(claims, mapping, self._url))


def from_settings(raw: Mapping[str, Any]) -> IdentityProvider:
    """Build the provider that the settings describe. Raises ValueError with the reason."""
    match raw.get("type"):
        case "jwks":
            issuer, token = _text(raw, "issuer", ""), _text(raw, "token", "")
            url, audience = _url(raw, "uri"), _text(raw, "audience", "llama-stack")
            mapping = validate_mapping(raw.get("claims"))
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            endpoint = JwksEndpoint(url, int(raw.get("recheck_s", 3600)), headers, _context(raw))
            return JwksProvider(endpoint, audience=audience, issuer=issuer or None, mapping=mapping)
        case "introspection":
            return IntrospectionProvider(
                _url(raw, "url"),
                client_id=_text(raw, "client_id"),
                client_secret=_text(raw, "client_secret"),
                in_body=bool(raw.get("send_secret_in_body")),
                mapping=validate_mapping(raw.get("claims")),
                context=_context(raw),
            )
        case "custom":
            return CustomProvider(_url(raw, "url"), _context(raw))
        case other:
            raise ValueError(f"type {other!r}: jwks, introspection and custom are known")


def _text(raw: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = raw.get(name, default)
    if not isinstance(value, str) or (default is None and not value):
        raise ValueError(f"{name}: a text is needed")
    return value


def _url(raw: Mapping[str, Any], name: str) -> str:
    url = _text(raw, name)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{name}: an http or https address is needed")
    return url


def _context(raw: Mapping[str, Any]) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=_text(raw, "cafile")) if raw.get("cafile") else None
