"""The embeddings protocol: texts in, vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbeddingModel(Protocol):
    """One embedding model, under the name that callers use (``endpoint/model``)."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """The length of each vector; 0 while it is unknown, before the first answer."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text, in their order; empty for no texts. Raises ProviderError."""
        ...
