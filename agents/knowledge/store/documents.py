"""What the documents of a vector database are: named and described, for those who search in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.knowledge.models.vector_dbs import VectorDocument


@dataclass(frozen=True, slots=True)
class DocumentAttributes:
    """A document; ``attributes`` are those of its file, None for one that is no file: its chunks have their own."""

    document_id: str
    name: str
    attributes: Mapping[str, Any] | None


def attributes_of(db: int, names: Sequence[str]) -> list[DocumentAttributes]:
    """The documents of these names in a database the actor was let into."""
    rows = VectorDocument.objects.filter(vector_db_id=db, document_id__in=names).order_by("pk")
    return [
        DocumentAttributes(document, name, None if file is None else scalars(metadata))
        for document, name, metadata, file in rows.values_list("document_id", "name", "metadata", "file_id")
    ]


def scalars(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What of metadata are attributes: texts, numbers and booleans."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}
