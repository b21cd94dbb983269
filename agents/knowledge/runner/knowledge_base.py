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
from agents.knowledge.store.filter_sql import Selection
from agents.knowledge.store.retrieval import Fusion, RetrievedChunk
from agents.knowledge.store.vector_dbs import NewChunk, NewDocument, VectorDBRecord
from agents.loop.embeddings.registry import KEYWORD, EmbeddingModels
from agents.loop.protocols.embeddings import EmbeddingModel
from agents.record.schemas.content import Content, Url, text_of

_URL = re.compile(r"(?:https?://|file://|data:)\S*")
MAX_CHUNKS = 20_000
"""Chunks that one request may add."""
MAX_QUESTION_CHARS = 20_000


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
            message = f"{where}: a document of type '{mime_type[:80]}' is given as a URL or a data URL, not as text."
            raise InvalidRequest(message, param="documents", code="document_type")
        return texts.plain_text(text_of(content) if not isinstance(content, Url) else "", mime_type, where)

    async def raw(self, url: str, mime_type: str, where: str) -> Raw:
        """What is at a URL. Raises InvalidRequest, naming ``where``."""
        if url.startswith("data:"):
            return texts.from_data_url(url, where)
        accepts = texts.is_image if texts.is_image(mime_type) else texts.is_readable
        return await self.fetcher.fetch(url, where, accepts)

    async def insert(self, db: VectorDBRecord, documents: Sequence[RagDocument], size: int) -> None:
        """Read, cut and store documents, all or none. Raises InvalidRequest, ProviderError."""
        _check_names(documents)
        chunked: list[tuple[RagDocument, str, list[chunking.TextChunk]]] = []
        for number, document in enumerate(documents):
            where = f"documents.{number}"
            text = await self.text(document.content, document.mime_type, where)
            chunked.append((document, text, await read(partial(chunking.chunks, text, size, limit=MAX_CHUNKS + 1))))
            _check_count(sum(len(chunks) for _, _, chunks in chunked))
        packed = iter(await self.embedded(db, [chunk.text for _, _, chunks in chunked for chunk in chunks]))
        await read(
            vector_dbs.insert, db.key, [_document(source, text, chunks, packed) for source, text, chunks in chunked]
        )

    async def insert_chunks(self, db: VectorDBRecord, chunk_inputs: Sequence[ChunkInput]) -> None:
        """Store chunks that were cut elsewhere, with or without their embeddings. Raises InvalidRequest."""
        chunk_texts = [_chunk_text(chunk_input, f"chunks.{number}") for number, chunk_input in enumerate(chunk_inputs)]
        own_embeddings = [
            _own_embedding(db, chunk_input, f"chunks.{number}") for number, chunk_input in enumerate(chunk_inputs)
        ]
        texts_to_embed = [text for text, packed in zip(chunk_texts, own_embeddings, strict=True) if packed is None]
        computed = iter(await self.embedded(db, texts_to_embed))
        tokens = await read(lambda: [chunking.count(text) for text in chunk_texts])
        by_document: dict[str, list[NewChunk]] = {}
        for text, count, packed, chunk_input in zip(chunk_texts, tokens, own_embeddings, chunk_inputs, strict=True):
            chunk = NewChunk(text, count, chunk_input.metadata, packed or next(computed))
            by_document.setdefault(_document_id(chunk_input), []).append(chunk)
        documents = [
            NewDocument(name, chunks, size=sum(len(chunk_input.text) for chunk_input in chunks))
            for name, chunks in by_document.items()
        ]
        await read(partial(vector_dbs.insert, db.key, documents, replace=False))

    async def embedded(self, db: VectorDBRecord, texts: Sequence[str]) -> list[bytes | None]:
        """The packed vectors of texts; None for each where the database is searched by words alone. Raises
        InvalidRequest for a model of another dimension, ProviderError."""
        model = self.model(db)
        if model is None:
            return [None] * len(texts)
        embeddings = await model.embed(texts)
        if embeddings and db.embedding_dimension and model.name == db.embedding_model:
            _check_dimension(db, len(embeddings[0]))
        return await read(lambda: [vectors.pack(vector) for vector in embeddings])

    # ------------------------------------------------------------------------------------- searching

    async def search(
        self, db: VectorDBRecord, question: str, params: SearchParams, within: Selection | None = None
    ) -> list[RetrievedChunk]:
        """The best chunks of one database, or of a selection ``within`` it. Raises ProviderError."""
        question = question[:MAX_QUESTION_CHARS]
        model = self.model(db) if params.mode != "keyword" else None
        vector = (await model.embed([question]))[0] if model and question.strip() else None
        ranker = params.ranker
        fusion = Fusion(alpha=ranker.alpha) if isinstance(ranker, WeightedRanker) else Fusion()
        if ranker is not None and not isinstance(ranker, WeightedRanker):
            fusion = Fusion(impact=ranker.impact_factor)
        method = retrieval.SearchMethod(params.max_chunks, params.mode or "hybrid", fusion)
        chunks = await read(retrieval.search, db, question, vector, method, within)
        return [chunk for chunk in chunks if params.score_threshold is None or chunk.score >= params.score_threshold]

    async def search_all(
        self, dbs: Sequence[VectorDBRecord], question: str, params: SearchParams
    ) -> list[RetrievedChunk]:
        """The best of several databases together."""
        chunks = [chunk for db in dbs for chunk in await self.search(db, question, params)]
        return sorted(chunks, key=lambda chunk: -chunk.score)[: params.max_chunks]

    def search_description(self, db: VectorDBRecord) -> dict[str, str]:
        """How a database is searched, in words for its readers."""
        model = self.model(db)
        if model is not None:
            return {"search": "hybrid", "served_by": model.name}
        if db.embedding_model == KEYWORD:
            return {"search": "keyword"}
        note = f"No embedding model '{db.embedding_model[:200]}' is configured here: words alone are searched."
        return {"search": "keyword", "note": note}


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
        message = f"{where}: mime_type '{mime_type[:80]}' is not text, nor a PDF."
        raise InvalidRequest(message, param="documents", code="document_type")


def _document(source: RagDocument, text: str, text_chunks: Sequence[chunking.TextChunk], packed: Any) -> NewDocument:
    metadata: Mapping[str, Any] = {**source.metadata, "document_id": source.document_id}
    chunks = [NewChunk(chunk.text, chunk.tokens, metadata, next(packed)) for chunk in text_chunks]
    return NewDocument(source.document_id, chunks, source.mime_type, size=len(text), metadata=source.metadata)


def _check_names(documents: Sequence[RagDocument]) -> None:
    seen: set[str] = set()
    for number, document in enumerate(documents):
        if document.document_id in seen:
            message = f"documents.{number}.document_id: two documents have this id."
            raise InvalidRequest(message, param=f"documents.{number}.document_id")
        seen.add(document.document_id)


def _check_count(chunks: int) -> None:
    if chunks > MAX_CHUNKS:
        message = f"documents: they make more than {MAX_CHUNKS:,} chunks; send fewer, or larger chunks."
        raise InvalidRequest(message, param="documents", code="document_too_large")


def _chunk_text(chunk: ChunkInput, where: str) -> str:
    text = text_of(chunk.content)
    if not text.strip():
        raise InvalidRequest(f"{where}.content: a chunk needs text.", param=f"{where}.content")
    return text


def _own_embedding(db: VectorDBRecord, chunk: ChunkInput, where: str) -> bytes | None:
    if chunk.embedding is None:
        return None
    if db.embedding_dimension and len(chunk.embedding) != db.embedding_dimension:
        message = f"{where}.embedding: {db.embedding_dimension} numbers are needed, not {len(chunk.embedding)}."
        raise InvalidRequest(message, param=f"{where}.embedding")
    packed = vectors.pack(chunk.embedding)
    if packed is None:
        raise InvalidRequest(f"{where}.embedding: all its numbers are 0.", param=f"{where}.embedding")
    return packed


def _document_id(chunk: ChunkInput) -> str:
    document_id = chunk.metadata.get("document_id")
    return str(document_id)[:255] if document_id not in (None, "") else "chunks"


def _check_dimension(db: VectorDBRecord, dimension: int) -> None:
    if dimension != db.embedding_dimension:
        message = (
            f"embedding_dimension: '{db.embedding_model[:200]}' gives {dimension} numbers, "
            f"the database was registered with {db.embedding_dimension}."
        )
        raise InvalidRequest(message, param="embedding_dimension", code="embedding_dimension")
