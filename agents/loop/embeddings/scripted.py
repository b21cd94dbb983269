"""An embedding without a model, for tests and trials: texts that share words have close vectors.

It knows no meanings: a hash of each word (and of its first four letters) decides which numbers of the vector
it adds to. The same text always gives the same vector, on every machine.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

_WORD = re.compile(r"\w+")
_STEM = 4


@dataclass(frozen=True)
class ScriptedEmbeddings:
    """Makes vectors of length one; for a text without words only the first number is not zero."""

    name: str = "scripted/embed"
    dimension: int = 384

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        # megabytes of text take seconds, in which the event loop must serve others
        return await asyncio.to_thread(lambda: [self._vector(text) for text in texts])

    def _vector(self, text: str) -> list[float]:
        out = [0.0] * self.dimension
        for feature, weight in _features(text):
            digest = blake2b(feature.encode(errors="replace"), digest_size=8).digest()
            index = int.from_bytes(digest[:4], "big") % self.dimension
            out[index] += weight if digest[4] & 1 else -weight
        length = math.sqrt(sum(value * value for value in out))
        if not length:
            return [1.0, *out[1:]]
        return [value / length for value in out]


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(text.casefold()):
        yield word, 1.0
        if len(word) > _STEM:
            yield f"{word[:_STEM]}…", 0.5
