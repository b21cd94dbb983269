"""The embeddings protocol: texts in, vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Embeddings(Protocol):
    """One embedding model under the name callers ask for it (``endpoint/model``)."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """Numbers in each vector; 0 while nobody knows it: before the first answer."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in their order; none for no texts. Raises ProviderError."""
        ...
