"""Vector databases on the wire, as Llama Stack v0.2.12 has them: register, insert, query."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, field_validator
from pydantic_core import PydanticCustomError

from agents.base.schemas.wire import Wire, at_most, null_is
from agents.record.schemas.content import Content, Url

Name = Annotated[str, Field(min_length=1, max_length=255)]
Mode = Literal["keyword", "vector", "hybrid"]

MODEL_TEMPLATE = "Result {index}\nContent: {chunk.content}\nMetadata: {metadata}\n"
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_PLACEHOLDERS = frozenset({"index", "chunk.content", "metadata"})


class RegisterVectorDB(Wire):
    """``embedding_model`` is ``keyword``, ``scripted/embed`` or ``endpoint/model``; any other name is
    taken, and served by words alone unless the server has a model of its own for such."""

    vector_db_id: Name
    embedding_model: str = Field(min_length=1, max_length=300)
    embedding_dimension: Annotated[int, Field(ge=1, le=16_384), null_is(384)] = 384
    provider_id: str | None = Field(default=None, max_length=255)
    provider_vector_db_id: str | None = Field(default=None, max_length=255)


class VectorDBObject(Wire):
    """``metadata`` says how the database is searched."""

    identifier: str
    embedding_model: str
    embedding_dimension: int
    provider_id: str
    provider_resource_id: str
    type: Literal["vector_db"] = "vector_db"
    metadata: dict[str, Any] = {}


class RagDocument(Wire):
    """``content`` is text, or where it is to be had: ``{"uri": …}``, or a text that is nothing but an
    http, https or data URL."""

    document_id: Name
    content: Content | Url
    mime_type: Annotated[str, Field(max_length=200), null_is("text/plain")] = "text/plain"
    metadata: Annotated[dict[str, Any], at_most(256), null_is({})] = {}


class RagInsert(Wire):
    vector_db_id: Name
    documents: list[RagDocument] = Field(max_length=1000)
    chunk_size_in_tokens: Annotated[int, Field(ge=16, le=8192), null_is(512)] = 512


class RrfRanker(Wire):
    type: Literal["rrf"] = "rrf"
    impact_factor: float = Field(default=60.0, gt=0.0)


class WeightedRanker(Wire):
    type: Literal["weighted"] = "weighted"
    alpha: float = Field(default=0.5, ge=0.0, le=1.0)


Ranker = Annotated[RrfRanker | WeightedRanker, Field(discriminator="type")]


class SearchParams(Wire):
    """``mode`` absent: by words and vectors where the database has vectors."""

    max_chunks: Annotated[int, Field(ge=1, le=100), null_is(5)] = 5
    mode: Mode | None = None
    ranker: Ranker | None = None
    score_threshold: float | None = None


class QueryConfig(SearchParams):
    """How a retrieval becomes text. A template's placeholders are ``{index}``, ``{chunk.content}`` and
    ``{metadata}``."""

    max_tokens_in_context: Annotated[int, Field(ge=1, le=1_000_000), null_is(4096)] = 4096
    chunk_template: Annotated[str, Field(max_length=10_000), null_is(MODEL_TEMPLATE)] = MODEL_TEMPLATE

    @field_validator("chunk_template")
    @classmethod
    def _check_placeholders(cls, value: str) -> str:
        unknown = set(PLACEHOLDER.findall(value)) - _PLACEHOLDERS
        if unknown or "{chunk.content}" not in value:
            raise ValueError("a template has {chunk.content} and may have {index} and {metadata}, nothing else")
        return value


class RagQuery(Wire):
    content: Content
    vector_db_ids: list[Name] = Field(max_length=100)
    query_config: Annotated[QueryConfig, null_is(QueryConfig())] = QueryConfig()


class RagAnswer(Wire):
    """``content`` is null when nothing was found."""

    content: Content | None
    metadata: dict[str, Any]


class ChunkInput(Wire):
    """``metadata.document_id`` says which document it is of."""

    content: Annotated[Content, at_most(256)]
    metadata: Annotated[dict[str, Any], at_most(256), null_is({})] = {}
    embedding: list[float] | None = Field(default=None, max_length=16_384)


NamedDB = Annotated[Name, Field(validation_alias=AliasChoices("vector_db_id", "vector_store_id"))]
"""A database by its name; clients of Llama Stack 0.4 and later say ``vector_store_id``."""


class VectorInsert(Wire):
    """``ttl_seconds`` is refused: chunks stay until their document or database is deleted, and who
    counts on their expiry must know."""

    vector_db_id: NamedDB
    chunks: list[ChunkInput] = Field(max_length=10_000)
    ttl_seconds: int | None = None

    @field_validator("ttl_seconds")
    @classmethod
    def _refuse_expiry(cls, value: int | None) -> int | None:
        if value is not None:
            raise PydanticCustomError("refused", "chunks do not expire here; leave it out")
        return value


class VectorQuery(Wire):
    vector_db_id: NamedDB
    query: Content
    params: Annotated[SearchParams, null_is(SearchParams())] = SearchParams()


class ChunkMatch(Wire):
    content: Content
    metadata: dict[str, Any]
    embedding: list[float] | None = None


class VectorAnswer(Wire):
    """Best first; scores are comparable within one answer."""

    chunks: list[ChunkMatch]
    scores: list[float]
