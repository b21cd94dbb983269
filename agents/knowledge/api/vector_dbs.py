"""Vector databases: registered, filled and asked (Llama Stack v0.2.12).

What embeds or fetches is awaited on the loop; the databases themselves are found on behalf of who asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.views import ApiView, Awaited, answer, data_list, no_content
from agents.knowledge.runner import rag
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.schemas.vector_dbs import (
    ChunkMatch,
    RagAnswer,
    RagInsert,
    RagQuery,
    RegisterVectorDB,
    VectorAnswer,
    VectorDBObject,
    VectorInsert,
    VectorQuery,
)
from agents.knowledge.store import vector_dbs
from agents.knowledge.store.vector_dbs import VectorDBRecord
from agents.loop.current_service import service
from agents.record.schemas.content import text_of

_JSON = {200: dict[str, Any]}


def _object(db: VectorDBRecord) -> VectorDBObject:
    return VectorDBObject(
        identifier=db.identifier,
        embedding_model=db.embedding_model,
        embedding_dimension=db.embedding_dimension,
        provider_id=db.provider_id,
        provider_resource_id=db.identifier,
        metadata=service().providers.part(Library).search_description(db),
    )


class VectorDBList(ApiView):
    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_vector_dbs", responses=_JSON)
    def get(self, request: Request) -> HttpResponseBase:
        return data_list(_object(db).model_dump() for db in vector_dbs.listing(self.actor))

    @extend_schema(operation_id="register_vector_db", request=RegisterVectorDB, responses=VectorDBObject)
    def post(self, request: Request) -> HttpResponseBase:
        body = self.body(RegisterVectorDB)
        record = vector_dbs.register(
            self.actor,
            body.vector_db_id,
            embedding_model=body.embedding_model,
            embedding_dimension=body.embedding_dimension,
            provider_id=body.provider_id or "builtin",
        )
        return answer(_object(record))


class VectorDBDetail(ApiView):
    actions = {"get": "read", "delete": "manage"}

    @extend_schema(operation_id="get_vector_db", responses=VectorDBObject)
    def get(self, request: Request, vector_db_id: str) -> HttpResponseBase:
        return answer(_object(vector_dbs.get(self.actor, vector_db_id)))

    @extend_schema(operation_id="unregister_vector_db", responses={204: None})
    def delete(self, request: Request, vector_db_id: str) -> HttpResponseBase:
        vector_dbs.delete(self.actor, vector_db_id)
        return no_content()


class _LibraryView(ApiView):
    """What the views share that insert and query: they wait on the loop."""

    actions = {}

    def _await(self, work: Callable[[Library], Awaitable[HttpResponseBase]]) -> HttpResponseBase:
        return Awaited(partial(work, service().providers.part(Library)))


class VectorInsertion(_LibraryView):
    actions = {"post": "run"}

    @extend_schema(operation_id="insert_chunks", request=VectorInsert, responses={204: None})
    def post(self, request: Request) -> HttpResponseBase:
        body: VectorInsert = self.body(VectorInsert)

        async def work(library: Library) -> HttpResponseBase:
            db = await library.find(self.actor, body.vector_db_id)
            await library.insert_chunks(db, body.chunks)
            return no_content()

        return self._await(work)


class VectorSearch(_LibraryView):
    actions = {"post": "run"}

    @extend_schema(operation_id="query_chunks", request=VectorQuery, responses=VectorAnswer)
    def post(self, request: Request) -> HttpResponseBase:
        body: VectorQuery = self.body(VectorQuery)

        async def work(library: Library) -> HttpResponseBase:
            db = await library.find(self.actor, body.vector_db_id)
            matches = await library.search(db, text_of(body.query), body.params)
            chunks = [
                ChunkMatch(content=chunk.text, metadata={"document_id": chunk.document_id, **chunk.metadata})
                for chunk in matches
            ]
            return answer(VectorAnswer(chunks=chunks, scores=[chunk.score for chunk in matches]))

        return self._await(work)


class RagInsertion(_LibraryView):
    actions = {"post": "run"}

    @extend_schema(operation_id="insert_documents", request=RagInsert, responses={204: None})
    def post(self, request: Request) -> HttpResponseBase:
        body: RagInsert = self.body(RagInsert)

        async def work(library: Library) -> HttpResponseBase:
            db = await library.find(self.actor, body.vector_db_id)
            await library.insert(db, body.documents, body.chunk_size_in_tokens)
            return no_content()

        return self._await(work)


class RagSearch(_LibraryView):
    actions = {"post": "run"}

    @extend_schema(operation_id="query_documents", request=RagQuery, responses=RagAnswer)
    def post(self, request: Request) -> HttpResponseBase:
        body: RagQuery = self.body(RagQuery)

        async def work(library: Library) -> HttpResponseBase:
            dbs = [await library.find(self.actor, name) for name in body.vector_db_ids]
            result = await rag.answer(library, dbs, text_of(body.content), body.query_config)
            return answer(RagAnswer(content=result.content, metadata={**result.metadata, **_notes_of(library, dbs)}))

        return self._await(work)


def _notes_of(library: Library, dbs: list[VectorDBRecord]) -> dict[str, Any]:
    notes = [note for db in dbs if (note := library.search_description(db).get("note"))]
    return {"notes": notes} if notes else {}
