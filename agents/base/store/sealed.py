"""Encrypts stored secrets, and texts that a client keeps for this server, each bound to its context.

The key is derived from ``SECRET_KEY``; secrets encrypted under ``SECRET_KEY_FALLBACKS`` can still be
decrypted. The cipher is imported when it is first needed.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Any

import msgspec
from django.conf import settings

_PURPOSE, _TEXT_PURPOSE = b"agents: secrets at rest", b"agents: texts kept by clients"


def seal(context: str, secrets: dict[str, str]) -> str:
    """Encrypt secrets for one ``context`` (such as a URL) alone; no secrets become the empty text."""
    if not secrets:
        return ""
    text = msgspec.json.encode({"place": context, "secrets": secrets})
    return str(_cipher(_keys()).encrypt(text).decode())


def unseal(context: str, token: str) -> dict[str, str] | None:
    """Decrypt the secrets of this context; None where they cannot be decrypted, or belong to another."""
    if not token:
        return {}
    from cryptography.fernet import InvalidToken

    try:
        content = msgspec.json.decode(_cipher(_keys()).decrypt(token.encode()))
    except InvalidToken:
        return None
    return dict(content["secrets"]) if content["place"] == context else None


def seal_text(context: str, text: str) -> str:
    """Encrypt a text that a client keeps; the same text always becomes the same."""
    ciphers = _text_ciphers(_keys())
    sealed = ciphers[0].encrypt(text.encode(errors="surrogatepass"), [context.encode()])
    return base64.urlsafe_b64encode(sealed).decode()


def unseal_text(context: str, sealed: str) -> str | None:
    """Decrypt such a text; None for anything that this server has not encrypted for this context."""
    from cryptography.exceptions import InvalidTag

    try:
        data = base64.b64decode(sealed.encode(), altchars=b"-_", validate=True)
    except ValueError:
        return None
    for cipher in _text_ciphers(_keys()):
        try:
            return str(cipher.decrypt(data, [context.encode()]).decode(errors="surrogatepass"))
        except (InvalidTag, ValueError):
            continue
    return None


def _keys() -> tuple[str, ...]:
    return (settings.SECRET_KEY, *map(str, settings.SECRET_KEY_FALLBACKS))


@lru_cache(maxsize=4)
def _cipher(keys: tuple[str, ...]) -> Any:
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(base64.urlsafe_b64encode(_derived(key, 32, _PURPOSE))) for key in keys])


@lru_cache(maxsize=4)
def _text_ciphers(keys: tuple[str, ...]) -> list[Any]:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return [AESSIV(_derived(key, 64, _TEXT_PURPOSE)) for key in keys]


def _derived(key: str, size: int, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), size, salt=None, info=purpose).derive(key.encode())
