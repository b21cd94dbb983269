"""The library: documents are read, cut, embedded and stored; questions are embedded and searched.

Where the providers of embeddings and the fetcher meet the store. Async; the store is asked on the
readers' threads. Every database is looked up on behalf of an actor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest
from agents.base.reading import read
from agents.knowledge.providers.memory import chunking, texts
from agents.knowledge.providers.memory.fetcher import Fetcher
from agents.knowledge.providers.memory.texts import Raw
from agents.knowledge.schemas.vector_dbs import ChunkInput, RagDocument, SearchParams, WeightedRanker
from agents.knowledge.store import retrieval, vector_dbs, vectors
from agents.knowledge.store.retrieval import Fusion, RetrievedChunk
from agents.knowledge.store.vector_dbs import NewChunk, NewDocument, VectorDBRecord
from agents.loop.embeddings.registry import KEYWORD, EmbeddingModels
from agents.loop.protocols.embeddings import EmbeddingModel
from agents.record.schemas.content import Content, Url, text_of

_URL = re.compile(r"(?:https?://|file://|data:)\S*")
MAX_CHUNKS = 20_000
"""Chunks that one request may add."""
LONGEST_QUESTION = 20_000


@dataclass(frozen=True, slots=True)
class Library:
    """All vector databases, as far as an actor may see them."""

    embeddings: EmbeddingModels = field(default_factory=EmbeddingModels)
    fetcher: Fetcher = field(default_factory=Fetcher)

    # ------------------------------------------------------------------------------------- databases

    async def find(self, actor: Actor, identifier: str, action: Action = "run") -> VectorDBRecord:
        """Raises NotFound."""
        return await read(vector_dbs.get, actor, identifier, action)

    async def of_session(self, session: int, *, make: bool = False) -> VectorDBRecord | None:
        """A session's own database."""
        model = (self.embeddings.default or KEYWORD) if make else ""
        return await read(partial(vector_dbs.of_session, session, embedding_model=model))

    def model(self, db: VectorDBRecord) -> EmbeddingModel | None:
        """The model that serves a database; None where words alone do."""
        return self.embeddings.resolve(db.embedding_model)

    # ------------------------------------------------------------------------------------- documents

    async def text(self, content: Content | Url, mime_type: str, where: str) -> str:
        """A document's words, fetched if need be. Raises InvalidRequest, naming ``where``."""
        url = url_of(content)
        if url:
            return await texts.text_of(await self.raw(url, mime_type, where), where)
        if not texts.is_text(mime_type):
            check_type(mime_type, where)
            words = f"{where}: a document of type '{mime_type[:80]}' is given as a URL or a data URL, not as text."
            raise InvalidRequest(words, param="documents", code="document_type")
        return texts.plain_text(text_of(content) if not isinstance(content, Url) else "", mime_type, where)

    async def raw(self, url: str, mime_type: str, where: str) -> Raw:
        """What is at a URL. Raises InvalidRequest, naming ``where``."""
        if url.startswith("data:"):
            return texts.from_data_url(url, where)
        wanted = texts.is_image if texts.is_image(mime_type) else texts.is_readable
        return await self.fetcher.fetch(url, where, wanted)

    async def insert(self, db: VectorDBRecord, documents: Sequence[RagDocument], size: int) -> None:
        """Read, cut and store documents, all or none. Raises InvalidRequest, ProviderError."""
        _check_names(documents)
        cut: list[tuple[RagDocument, str, list[chunking.TextChunk]]] = []
        for number, document in enumerate(documents):
            where = f"documents.{number}"
            text = await self.text(document.content, document.mime_type, where)
            cut.append((document, text, await read(partial(chunking.chunks, text, size, limit=MAX_CHUNKS + 1))))
            _check_count(sum(len(pieces) for _, _, pieces in cut))
        packed = iter(await self.embedded(db, [piece.text for _, _, pieces in cut for piece in pieces]))
        await read(vector_dbs.insert, db.key, [_document(one, text, pieces, packed) for one, text, pieces in cut])

    async def insert_chunks(self, db: VectorDBRecord, given: Sequence[ChunkInput]) -> None:
        """Store chunks that were cut elsewhere, with or without their embeddings. Raises InvalidRequest."""
        words = [_chunk_text(one, f"chunks.{number}") for number, one in enumerate(given)]
        own = [_own_embedding(db, one, f"chunks.{number}") for number, one in enumerate(given)]
        bare = [text for text, packed in zip(words, own, strict=True) if packed is None]
        computed = iter(await self.embedded(db, bare))
        tokens = await read(lambda: [chunking.count(text) for text in words])
        by_document: dict[str, list[NewChunk]] = {}
        for text, count, packed, one in zip(words, tokens, own, given, strict=True):
            chunk = NewChunk(text, count, one.metadata, packed or next(computed))
            by_document.setdefault(_document_id(one), []).append(chunk)
        documents = [
            NewDocument(name, chunks, size=sum(len(one.text) for one in chunks)) for name, chunks in by_document.items()
        ]
        await read(partial(vector_dbs.insert, db.key, documents, replace=False))

    async def embedded(self, db: VectorDBRecord, pieces: Sequence[str]) -> list[bytes | None]:
        """The packed vectors of texts; None for each where the database is searched by words alone. Raises
        InvalidRequest for a model of another dimension, ProviderError."""
        model = self.model(db)
        if model is None:
            return [None] * len(pieces)
        found = await model.embed(pieces)
        if found and db.embedding_dimension and model.name == db.embedding_model:
            _check_dimension(db, len(found[0]))
        return await read(lambda: [vectors.pack(vector) for vector in found])

    # ------------------------------------------------------------------------------------- searching

    async def search(
        self, db: VectorDBRecord, question: str, params: SearchParams, within: Sequence[int] | None = None
    ) -> list[RetrievedChunk]:
        """The best chunks of one database, or of the documents ``within`` it. Raises ProviderError."""
        question = question[:LONGEST_QUESTION]
        model = self.model(db) if params.mode != "keyword" else None
        vector = (await model.embed([question]))[0] if model and question.strip() else None
        ranker = params.ranker
        fusion = Fusion(alpha=ranker.alpha) if isinstance(ranker, WeightedRanker) else Fusion()
        if ranker is not None and not isinstance(ranker, WeightedRanker):
            fusion = Fusion(impact=ranker.impact_factor)
        search = partial(retrieval.search, limit=params.max_chunks, mode=params.mode or "hybrid", fusion=fusion)
        found = await read(search, db, question, vector, within=within)
        return [one for one in found if params.score_threshold is None or one.score >= params.score_threshold]

    async def search_all(
        self, dbs: Sequence[VectorDBRecord], question: str, params: SearchParams
    ) -> list[RetrievedChunk]:
        """The best of several databases together."""
        found = [one for db in dbs for one in await self.search(db, question, params)]
        return sorted(found, key=lambda one: -one.score)[: params.max_chunks]

    def how(self, db: VectorDBRecord) -> dict[str, str]:
        """How a database is searched, in words for its readers."""
        model = self.model(db)
        if model is not None:
            return {"search": "hybrid", "served_by": model.name}
        if db.embedding_model == KEYWORD:
            return {"search": "keyword"}
        words = f"No embedding model '{db.embedding_model[:200]}' is configured here: words alone are searched."
        return {"search": "keyword", "note": words}


def url_of(content: Content | Url) -> str:
    """The URL a document is to be had at; empty for one that is here. Clients write it into the text, too."""
    if isinstance(content, Url):
        return content.uri.strip()
    if isinstance(content, str) and _URL.fullmatch(content.strip()):
        return content.strip()
    return ""


def check_type(mime_type: str, where: str) -> None:
    """Raises InvalidRequest for a type nobody here can read."""
    if not texts.is_readable(mime_type):
        words = f"{where}: mime_type '{mime_type[:80]}' is not text, nor a PDF."
        raise InvalidRequest(words, param="documents", code="document_type")


def _document(given: RagDocument, text: str, pieces: Sequence[chunking.TextChunk], packed: Any) -> NewDocument:
    metadata: Mapping[str, Any] = {**given.metadata, "document_id": given.document_id}
    chunks = [NewChunk(piece.text, piece.tokens, metadata, next(packed)) for piece in pieces]
    return NewDocument(given.document_id, chunks, given.mime_type, size=len(text), metadata=given.metadata)


def _check_names(documents: Sequence[RagDocument]) -> None:
    seen: set[str] = set()
    for number, document in enumerate(documents):
        if document.document_id in seen:
            words = f"documents.{number}.document_id: two documents have this id."
            raise InvalidRequest(words, param=f"documents.{number}.document_id")
        seen.add(document.document_id)


def _check_count(chunks: int) -> None:
    if chunks > MAX_CHUNKS:
        words = f"documents: they make more than {MAX_CHUNKS:,} chunks; send fewer, or larger chunks."
        raise InvalidRequest(words, param="documents", code="document_too_large")


def _chunk_text(given: ChunkInput, where: str) -> str:
    text = text_of(given.content)
    if not text.strip():
        raise InvalidRequest(f"{where}.content: a chunk needs text.", param=f"{where}.content")
    return text


def _own_embedding(db: VectorDBRecord, given: ChunkInput, where: str) -> bytes | None:
    if given.embedding is None:
        return None
    if len(given.embedding) != db.embedding_dimension:
        words = f"{where}.embedding: {db.embedding_dimension} numbers are needed, not {len(given.embedding)}."
        raise InvalidRequest(words, param=f"{where}.embedding")
    packed = vectors.pack(given.embedding)
    if packed is None:
        raise InvalidRequest(f"{where}.embedding: all its numbers are 0.", param=f"{where}.embedding")
    return packed


def _document_id(given: ChunkInput) -> str:
    named = given.metadata.get("document_id")
    return str(named)[:255] if named not in (None, "") else "chunks"


def _check_dimension(db: VectorDBRecord, dimension: int) -> None:
    if dimension != db.embedding_dimension:
        words = (
            f"embedding_dimension: '{db.embedding_model[:200]}' gives {dimension} numbers, "
            f"the database was registered with {db.embedding_dimension}."
        )
        raise InvalidRequest(words, param="embedding_dimension", code="embedding_dimension")
