"""The protocols of retrieval, which finds context for a question, and of a turn's documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from agents.record.schemas.content import ImageItem


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """The result of a retrieval. ``context`` is the text for the model, ``chunks`` are its sources."""

    context: str
    vector_db_ids: str
    chunks: list[dict[str, Any]] = field(default_factory=list)


class Retriever(Protocol):
    """Retrieves context from vector databases."""

    async def retrieve(self, query: str) -> RetrievedContext:
        """Find context for a query. Raises ProviderError."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """Documents as a model gets them: ``context`` and ``images`` follow the last input message."""

    context: str = ""
    images: list[ImageItem] = field(default_factory=list)


class DocumentPreparation(Protocol):
    """The preparation of a turn's documents that have to be fetched, read or indexed first."""

    def named_by(self, turn: int) -> Self:
        """Return the same documents under their names in another turn."""
        ...

    async def prepare(self) -> PreparedDocuments:
        """Prepare the documents. Raises InvalidRequest for one that cannot be fetched or read; ProviderError."""
        ...
