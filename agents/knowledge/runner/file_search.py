"""Searching the files of vector stores: by questions, filtered by attributes.

What the API's search and the models' tool ``file_search`` both ask. Scores lie between 0 and 1. By vectors they are
the cosine; by both ways, 1 is the first place in both; by words alone, the best chunk's is the share of the
question's words that stand in it, and others' are as much less as they fit less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.base.access import Actor
from agents.base.reading import read
from agents.base.tokenizer import tokens
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.schemas.filters import Filter
from agents.knowledge.schemas.vector_dbs import SearchParams
from agents.knowledge.store import documents, filter_sql, vector_stores
from agents.knowledge.store.documents import DocumentAttributes
from agents.knowledge.store.retrieval import Fusion
from agents.knowledge.store.retrieval import RetrievedChunk as Chunk
from agents.knowledge.store.vector_dbs import VectorDBRecord

Mode = Literal["keyword", "vector", "hybrid"]


@dataclass(frozen=True, slots=True)
class FileSearchHit:
    """A chunk of a file that was found; of a document that is no file, its name for an id. ``attributes`` are those of
    the file, else of the chunk."""

    file_id: str
    filename: str
    score: float
    attributes: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class FileQuery:
    """What is searched for, in these stores (or vector databases); ``filters`` are on attributes."""

    vector_store_ids: Sequence[str]
    queries: Sequence[str]
    filters: Filter | None = None
    max_results: int = 10
    score_threshold: float = 0.0
    mode: Mode | None = None


async def search(library: Library, actor: Actor, sought: FileQuery) -> list[FileSearchHit]:
    """The best chunks for any of the queries, best first, each once. Raises
    NotFound for one the actor may not search, InvalidRequest for one that has expired, ProviderError."""
    best: dict[int, FileSearchHit] = {}
    for db in [await library.find(actor, name) for name in dict.fromkeys(sought.vector_store_ids)]:
        await read(vector_stores.use, db.key)
        within = None if sought.filters is None else filter_sql.chunks_matching(db.key, sought.filters)
        for query in dict.fromkeys(sought.queries):
            params = SearchParams(max_chunks=sought.max_results, mode=sought.mode)
            chunks = await library.search(db, query, params, within)
            scored = list(zip(chunks, _scores(library, db, query, chunks, sought.mode), strict=True))
            for key, hit in await read(_hits, db.key, scored):
                if hit.score >= sought.score_threshold and (key not in best or best[key].score < hit.score):
                    best[key] = hit
    return sorted(best.values(), key=lambda best_hit: -best_hit.score)[: sought.max_results]


def _hits(db: int, scored: Sequence[tuple[Chunk, float]]) -> list[tuple[int, FileSearchHit]]:
    by_id = {
        document.document_id: document
        for document in documents.attributes_of(db, [chunk.document_id for chunk, _ in scored])
    }
    return [
        (chunk.key, _hit(by_id[chunk.document_id], chunk, score))
        for chunk, score in scored
        if chunk.document_id in by_id
    ]


def _hit(document: DocumentAttributes, chunk: Chunk, score: float) -> FileSearchHit:
    attributes = document.attributes if document.attributes is not None else documents.scalars(chunk.metadata)
    return FileSearchHit(document.document_id, document.name or document.document_id, score, attributes, chunk.text)


# ----------------------------------------------------------------------------------------------- scores

_FIRST_IN_BOTH = 2 / (Fusion().impact + 1)


def _scores(
    library: Library, db: VectorDBRecord, query: str, chunks: Sequence[Chunk], mode: Mode | None
) -> list[float]:
    """The chunks' scores, scaled to 0…1 without changing their order."""
    if not chunks:
        return []
    if mode == "keyword" or library.model(db) is None:
        factor = _share(query, chunks[0].text) / chunks[0].score if chunks[0].score > 0 else 0.0
    else:
        factor = 1.0 if mode == "vector" else 1 / _FIRST_IN_BOTH
    return [round(min(1.0, max(0.0, chunk.score * factor)), 6) for chunk in chunks]


def _share(query: str, text: str) -> float:
    question_words = set(tokens(query))
    return len(question_words & set(tokens(text))) / len(question_words) if question_words else 0.0
