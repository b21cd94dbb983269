"""Reads the probabilities of tokens from answers of chat completions.

What cannot be read is left out: an answer is worth more than its probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from agents.base.schemas.wire import JSON

MAX_ENTRIES = 200_000
"""Tokens of an answer whose probabilities are kept, those of the likely others counted."""
MAX_TOP = 20
_MAX_TOKEN = 1_000


class LogprobReader:
    """The probabilities of one answer, up to `MAX_ENTRIES`."""

    def __init__(self) -> None:
        self._left = MAX_ENTRIES

    def read(self, logprobs: JSON) -> list[dict[str, JSON]]:
        """Return the tokens of a choice's ``logprobs``, as `agents.loop.inference.base.Text` has them."""
        if not isinstance(logprobs, dict):
            return []
        out = []
        for raw in _objects(logprobs.get("content") or logprobs.get("refusal")):
            entry = _entry(raw)
            if entry is not None:
                top = [other for other in map(_entry, _objects(raw.get("top_logprobs"))) if other is not None]
                self._left -= 1 + len(top[:MAX_TOP])
                if self._left < 0:
                    break
                out.append({**entry, "top_logprobs": top[:MAX_TOP]})
        return out


def _objects(value: JSON) -> Iterator[dict[str, JSON]]:
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _entry(raw: dict[str, JSON]) -> dict[str, JSON] | None:
    token, logprob = raw.get("token"), raw.get("logprob")
    if not isinstance(token, str) or len(token) > _MAX_TOKEN or isinstance(logprob, bool):
        return None
    if not isinstance(logprob, int | float) or not math.isfinite(logprob):
        return None
    return {"token": token, "logprob": logprob, "bytes": _bytes(raw.get("bytes"), token)}


def _bytes(value: JSON, token: str) -> list[int]:
    """Return the bytes of a token: part of a character has no text, or another."""
    if isinstance(value, list) and len(value) <= 4 * _MAX_TOKEN and all(_is_byte(number) for number in value):
        return value
    return list(token.encode(errors="replace"))


def _is_byte(value: JSON) -> bool:
    return type(value) is int and 0 <= value < 256
