"""How likely a scripted model finds its tokens: the same token always gets the same probability."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

_ALTERNATIVES = "abcdefghijklmnopqrst"


def of(token: str, top: int) -> dict[str, Any]:
    """Return the probability of a token, with the ``top`` most likely ones in its rank: itself, and letters."""
    logprob = -blake2b(token.encode(), digest_size=1).digest()[0] / 256
    likely = [(token, logprob), *((letter, logprob - 1 - rank) for rank, letter in enumerate(_ALTERNATIVES))]
    return {**_entry(token, logprob), "top_logprobs": [_entry(*entry) for entry in likely[:top]]}


def _entry(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
