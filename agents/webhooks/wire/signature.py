"""Signatures of webhooks, as the Standard Webhooks specification (1.0) has them, in three headers.

The signed text is ``id.timestamp.body``; the key is what follows ``whsec_`` in the secret, decoded from base64."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from agents.webhooks.schemas.endpoints import KEY_PREFIX


def headers(webhook_id: str, at_s: int, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """Return the headers of a request that is sent at a time in seconds since 1970, signed by each of the secrets."""
    signed = b".".join((webhook_id.encode(), str(at_s).encode(), body))
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(_signature(secret, signed) for secret in secrets),
    }


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(KEY_PREFIX))
    return f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
