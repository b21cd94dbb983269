"""The retrieval protocol: text that belongs to a question, found in vector databases; and documents that
come with a turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from agents.record.schemas.content import ImageItem


@dataclass(frozen=True, slots=True)
class Retrieved:
    """``context`` is what is put before the model; ``chunks`` where it came from."""

    context: str
    vector_db_ids: str
    chunks: list[dict[str, Any]] = field(default_factory=list)


class Memory(Protocol):
    """A place to retrieve from."""

    async def retrieve(self, query: str) -> Retrieved:
        """Raises ProviderError."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """What documents become for a model: ``context`` and ``images`` follow the last input message."""

    context: str = ""
    images: list[ImageItem] = field(default_factory=list)


class Documents(Protocol):
    """Documents of a turn that take a while: to be fetched, read or put into a database first."""

    def named_by(self, turn: int) -> Self:
        """The same under the names they have in another turn."""
        ...

    async def prepare(self) -> Prepared:
        """Raises InvalidRequest for one that cannot be had or read; ProviderError."""
        ...
