"""Secrets struck out of what others say: an endpoint that repeats the key it was sent, a tool that
echoes its headers.

Struck are texts that come from elsewhere and are stored or shown: errors of endpoints, results and
errors of tools, what MCP servers say of themselves, and the lines of the log. The words of models are
not: a model is never told a key, so that it has none to repeat, and its tokens are the hot path. What
callers write is theirs, and is kept as it is.

`configure` takes the secrets of the settings, once; those of one request, or of one server of tools,
are given along (``more``). A text is looked through once per secret, and there are few.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit, urlunsplit

REDACTED = "[redacted]"
MIN_SECRET = 8
"""What is shorter stands in for "no key" at local endpoints ("none", "ollama"): to strike it out would only
garble messages."""
MAX_WORD = 15
"""A text of letters alone, up to here, is a word ("postgres", "changeme"): to strike it out wherever it
stands would garble messages, and tell what it is."""

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
"""Keys of widespread makes, known or not: as a whole, or with stars in the middle, as some endpoints tell them."""

_secrets: tuple[str, ...] = ()


def configure(secrets: Iterable[str]) -> None:
    """Set the secrets of this server."""
    global _secrets
    _secrets = _redactable(secrets)


def redact(text: str, extra: Iterable[str] = ()) -> str:
    """The text without this server's secrets, and ``more``."""
    for secret in (*_redactable(extra), *_secrets) if extra else _secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redact_error(text: str, extra: Iterable[str] = ()) -> str:
    """The words of an endpoint's error: also without what looks like a key, though nobody here knows it."""
    return _LOOKS_LIKE_A_KEY.sub(REDACTED, redact(text, extra))


def redact_json(value: Any, extra: Iterable[str] = ()) -> Any:
    """The same value with its texts struck, names of fields aside."""
    match value:
        case str():
            return redact(value, extra)
        case list() | tuple():
            return [redact_json(item, extra) for item in value]
        case dict():
            return {name: redact_json(one, extra) for name, one in value.items()}
        case _:
            return value


def _redactable(secrets: Iterable[str]) -> tuple[str, ...]:
    """Those that can be struck out, the longest first: one may be a part of another."""
    redactable = {
        secret for secret in secrets if len(secret) >= MIN_SECRET and not (secret.isalpha() and len(secret) <= MAX_WORD)
    }
    return tuple(sorted(redactable, key=lambda one: (-len(one), one)))


# ------------------------------------------------------------------------------------ where secrets are


def secrets_in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """The values of headers, and what stands behind a scheme in them: ``Bearer …``, ``Basic …``."""
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
    """The password of a URL, and the values of its parameters that are secrets by their names."""
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
    """Every text in it that is a value."""
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
    """A URL as it may be shown: who is let in by it is struck out, where it leads is not."""
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
    """As they stand there, quoted."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return [(name, value) for name, _, value in pairs]


def _redacted_parameter(name: str, value: str) -> str:
    if value and _SECRET_NAMES.search(unquote_plus(name)):
        value = REDACTED
    return f"{name}={value}" if value else name
