"""Redacts secrets in texts of others: an endpoint may repeat the key it was sent, a tool its headers.

Redacted are external texts that are stored or shown: errors of endpoints, results and errors of tools,
descriptions of MCP servers, and the lines of the log. The output of models is not: a model never gets a
key, so that it has none to repeat, and its tokens are the hot path. What callers write is theirs, and is
stored as it is.

`configure` takes the secrets of the settings, once; those of one request, or of one tool server, are
passed as ``extra``. A text is searched once per secret, and there are few.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

REDACTED = "[redacted]"
MIN_SECRET = 8
"""Shortest secret that is redacted, in characters. Shorter ones stand for "no key" at local endpoints ("none",
"ollama"): to redact them would only garble messages."""
MAX_WORD = 15
"""A secret of letters alone, up to this length, is a word ("postgres", "changeme"): to redact it everywhere
would garble messages, and give it away."""

_SECRET_NAMES = re.compile(
    r"(?:^|[^a-z])(?:key|apikey|token|secret|sig|signature|password|passwd|pwd|auth|authorization|credentials?|code|jwt)$"
    r"|(?:key|token|secret|password)$",
    re.IGNORECASE,
)
"""Parameters of URLs whose values are secrets, by the end of their names: api_key, access-token, X-Amz-Signature."""
_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|tvly|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|AKIA|AIza|BSA|eyJ)"
    r"[-_A-Za-z0-9.*]{15,}[-_A-Za-z0-9*]"
)
"""Keys of well-known vendors, whether configured here or not: whole, or with stars in the middle, as some endpoints
quote them."""

_secrets: tuple[str, ...] = ()


def configure(secrets: Iterable[str]) -> None:
    """Set the secrets of this server."""
    global _secrets
    _secrets = _redactable(secrets)


def redact(text: str, extra: Iterable[str] = ()) -> str:
    """Redact this server's secrets, and those of ``extra``, in a text."""
    for secret in (*_redactable(extra), *_secrets) if extra else _secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redact_error(text: str, extra: Iterable[str] = ()) -> str:
    """Redact the message of an endpoint's error: also what looks like a key and is none of ours."""
    return _LOOKS_LIKE_A_KEY.sub(REDACTED, redact(text, extra))


def redact_json(value: Any, extra: Iterable[str] = ()) -> Any:
    """Redact the texts of a JSON value, but not its field names."""
    match value:
        case str():
            return redact(value, extra)
        case list() | tuple():
            return [redact_json(item, extra) for item in value]
        case dict():
            return {name: redact_json(inner, extra) for name, inner in value.items()}
        case _:
            return value


def _redactable(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets that can be redacted, the longest first: one may be a part of another."""
    redactable = {
        secret for secret in secrets if len(secret) >= MIN_SECRET and not (secret.isalpha() and len(secret) <= MAX_WORD)
    }
    return tuple(sorted(redactable, key=lambda one: (-len(one), one)))


# ------------------------------------------------------------------------------------ where secrets are


def secrets_in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of headers, and the credentials behind their schemes: ``Bearer …``, ``Basic …``."""
    for value in headers.values():
        yield value
        scheme, _, credentials = value.partition(" ")
        if credentials:
            yield credentials
        if scheme.lower() == "basic":
            yield from _of_basic(credentials)


def _of_basic(credentials: str) -> Iterator[str]:
    try:
        decoded = b64decode(credentials, validate=True).decode()
    except ValueError:
        return
    yield decoded
    yield decoded.partition(":")[2]


def secrets_in_url(url: str) -> Iterator[str]:
    """Yield the password of a URL, and the values of its parameters that are secrets by their names."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return
    if password:
        yield from (password, unquote(password))
    for name, value in _parameters(parts.query):
        if _SECRET_NAMES.search(unquote_plus(name)):
            yield from (value, unquote_plus(value))


def secrets_in_json(value: Any) -> Iterator[str]:
    """Yield every text of a JSON value, without field names."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from secrets_in_json(item)
        case dict():
            for item in value.values():
                yield from secrets_in_json(item)


def redacted_url(url: str) -> str:
    """Redact the credentials of a URL, for display; host and path remain."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return REDACTED
    user, at, host = parts.netloc.rpartition("@")
    if at:
        user = f"{user.partition(':')[0]}:{REDACTED}" if ":" in user else REDACTED
    query = "&".join(_redacted_parameter(name, value) for name, value in _parameters(parts.query))
    return urlunsplit((parts.scheme, f"{user}{at}{host}", parts.path, query, parts.fragment))


def _parameters(query: str) -> list[tuple[str, str]]:
    """Split a query string into (name, value), both still quoted."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return [(name, value) for name, _, value in pairs]


def _redacted_parameter(name: str, value: str) -> str:
    if value and _SECRET_NAMES.search(unquote_plus(name)):
        value = REDACTED
    return f"{name}={value}" if value else name
