"""What the documents of a vector database are: named and described, for those who search in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.knowledge.models.vector_dbs import VectorDocument


@dataclass(frozen=True, slots=True)
class DocumentAttributes:
    """A document; ``attributes`` are what of its metadata are texts, numbers and booleans."""

    key: int
    document_id: str
    name: str
    attributes: Mapping[str, Any]


def attributes_of(db: int, names: Sequence[str] | None = None) -> list[DocumentAttributes]:
    """The documents of a database the actor was let into, or those of it that are named."""
    rows = VectorDocument.objects.filter(vector_db_id=db)
    if names is not None:
        rows = rows.filter(document_id__in=names)
    values = rows.values_list("pk", "document_id", "name", "metadata").order_by("pk")
    return [DocumentAttributes(key, document, name, _scalars(metadata)) for key, document, name, metadata in values]


def _scalars(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}
