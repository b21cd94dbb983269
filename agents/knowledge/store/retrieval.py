"""Searching a vector database: by words, by vectors, or by both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.knowledge.models.vector_dbs import Chunk
from agents.knowledge.store import passages, vectors
from agents.knowledge.store.filter_sql import Selection
from agents.knowledge.store.passages import Hit
from agents.knowledge.store.vector_dbs import VectorDBRecord

Mode = Literal["keyword", "vector", "hybrid"]

FUSION_DEPTH = 4
"""Of each way of looking, this many times as many hits as are wanted are fused."""


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two rankings become one: by reciprocal ranks (Cormack et al. 2009), unless ``alpha`` says
    how much of a score is the vectors' (both scaled to 0…1 first)."""

    impact: float = 60.0
    alpha: float | None = None


@dataclass(frozen=True, slots=True)
class RetrievedChunk:
    """A chunk and how well it fits; scores are comparable within one search only."""

    key: int
    score: float
    text: str
    tokens: int
    document_id: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchMethod:
    """How many chunks are searched for, and by what; ``fusion`` counts for ``hybrid`` alone."""

    limit: int
    mode: Mode = "hybrid"
    fusion: Fusion = Fusion()


def search(
    db: VectorDBRecord,
    question: str,
    vector: Sequence[float] | None,
    method: SearchMethod,
    within: Selection | None = None,
) -> list[RetrievedChunk]:
    """The best chunks of a database the actor was let into, or of a selection ``within`` it. Where there is
    no ``vector`` words decide."""
    limit = method.limit
    if vector is None or method.mode == "keyword":
        return _load(passages.search(db.key, question, limit, within))
    if method.mode == "vector":
        return _load(vectors.search(db.key, db.version, vector, limit, within))
    # at a right angle, a vector says nothing, and a rank among such would count
    similar = [hit for hit in vectors.search(db.key, db.version, vector, limit * FUSION_DEPTH, within) if hit[1] > 0]
    return _load(
        _fused(passages.search(db.key, question, limit * FUSION_DEPTH, within), similar, method.fusion)[:limit]
    )


def _fused(by_words: Sequence[Hit], by_vector: Sequence[Hit], fusion: Fusion) -> list[Hit]:
    scores: dict[int, float] = {}
    for hits, share in ((by_words, 1 - (fusion.alpha or 0.0)), (by_vector, fusion.alpha or 0.0)):
        for rank, (key, score) in enumerate(_scaled(hits) if fusion.alpha is not None else hits, start=1):
            contribution = 1 / (fusion.impact + rank) if fusion.alpha is None else share * score
            scores[key] = scores.get(key, 0.0) + contribution
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def _scaled(hits: Sequence[Hit]) -> list[Hit]:
    """Scores from 0 to 1."""
    if not hits:
        return []
    low, high = hits[-1][1], hits[0][1]
    return [(key, (score - low) / (high - low) if high > low else 1.0) for key, score in hits]


def _load(hits: Sequence[Hit]) -> list[RetrievedChunk]:
    rows = Chunk.objects.filter(pk__in=[key for key, _ in hits])
    chunks = {row[0]: row[1:] for row in rows.values_list("pk", "text", "tokens", "document__document_id", "metadata")}
    return [RetrievedChunk(key, score, *chunks[key]) for key, score in hits if key in chunks]
