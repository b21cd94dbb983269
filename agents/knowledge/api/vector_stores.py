"""OpenAI's vector stores: made, listed, changed, searched, deleted. Each is a vector database, too."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.views import ApiView, Awaited, answer
from agents.knowledge.runner import file_search
from agents.knowledge.runner.file_search import FileQuery, FileSearchHit
from agents.knowledge.runner.indexing import Indexer
from agents.knowledge.runner.knowledge_base import Library
from agents.knowledge.schemas import filters
from agents.knowledge.schemas.vector_stores import (
    CreateVectorStore,
    FileCounts,
    PassageText,
    SearchHit,
    SearchResults,
    SearchVectorStore,
    StoreExpiry,
    UpdateVectorStore,
    VectorStoreDeleted,
    VectorStoreListObject,
    VectorStoreObject,
    chunking_of,
)
from agents.knowledge.store import vector_files, vector_stores
from agents.knowledge.store.vector_files import NewStoreFile
from agents.knowledge.store.vector_stores import NewStore, StoreRecord
from agents.loop.current_service import service
from agents.loop.embeddings.registry import KEYWORD

DEFAULT_DIMENSION = 384
"""Of the vectors of a model nobody said more about."""


def counts_of(counts: Any) -> FileCounts:
    """How many files are how far."""
    return FileCounts(**counts, total=sum(counts.values()))


def store_object(store: StoreRecord) -> VectorStoreObject:
    """A store as the API shows it."""
    expires = store.expires_at
    is_expired = expires is not None and expires <= ids.now_us()
    return VectorStoreObject(
        id=store.public_id,
        created_at=store.created_at // 1_000_000,
        name=store.name,
        usage_bytes=store.usage,
        file_counts=counts_of(store.counts),
        status="expired" if is_expired else "in_progress" if store.counts.get("in_progress") else "completed",
        expires_after=None if store.expires_days is None else StoreExpiry(days=store.expires_days),
        expires_at=None if expires is None else expires // 1_000_000,
        last_active_at=store.last_active_at // 1_000_000,
        metadata=dict(store.metadata),
    )


class VectorStoreListView(ApiView):
    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="create_vector_store", request=CreateVectorStore, responses=VectorStoreObject)
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateVectorStore = self.body(CreateVectorStore)
        indexer, chunking = service().part(Indexer), chunking_of(body.chunking_strategy)
        sizes = chunking.max_chunk_size_tokens, chunking.chunk_overlap_tokens
        new_files = [NewStoreFile(file, *sizes) for file in dict.fromkeys(body.file_ids)]
        added = vector_files.create_store(self.actor, _new(body), new_files, indexer.owner)
        indexer.start(added.work)
        public = ids.openai(ids.Kind.VECTOR_STORE, added.store)
        return answer(store_object(vector_stores.get(self.actor, public, "manage")))

    @extend_schema(operation_id="list_vector_stores", parameters=CURSOR_PARAMETERS, responses=VectorStoreListObject)
    def get(self, request: Request) -> HttpResponseBase:
        records, has_more = vector_stores.listing(self.actor, cursor(request._request))
        data = [store_object(store) for store in records]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(VectorStoreListObject(data=data, first_id=first, last_id=last, has_more=has_more))


def _new(body: CreateVectorStore) -> NewStore:
    embeddings = service().providers.part(Library).embeddings
    model = body.embedding_model or embeddings.default or KEYWORD
    # what is not said is what the model gives
    default_dimension = 0 if embeddings.resolve(model) else DEFAULT_DIMENSION
    return NewStore(
        name=body.name,
        embedding_model=model,
        embedding_dimension=body.embedding_dimension or default_dimension,
        provider_id=body.provider_id or "builtin",
        metadata=body.metadata,
        expires_days=body.expires_after.days if body.expires_after else None,
    )


class VectorStoreDetail(ApiView):
    actions = {"get": "read", "post": "manage", "delete": "manage"}

    @extend_schema(operation_id="get_vector_store", responses=VectorStoreObject)
    def get(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        return answer(store_object(vector_stores.get(self.actor, vector_store_id)))

    @extend_schema(operation_id="update_vector_store", request=UpdateVectorStore, responses=VectorStoreObject)
    def post(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        body: UpdateVectorStore = self.body(UpdateVectorStore)
        changes: dict[str, Any] = body.model_dump(include=body.model_fields_set & {"name", "metadata"})
        if "expires_after" in body.model_fields_set:
            changes["expires_days"] = body.expires_after.days if body.expires_after else None
        return answer(store_object(vector_stores.update(self.actor, vector_store_id, changes)))

    @extend_schema(operation_id="delete_vector_store", responses=VectorStoreDeleted)
    def delete(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        """Delete a store. The files that are in it stay files."""
        vector_stores.delete(self.actor, vector_store_id)
        return answer(VectorStoreDeleted(id=vector_store_id))


class VectorStoreSearch(ApiView):
    """What of a store's files fits a question, or one of several."""

    actions = {"post": "run"}

    @extend_schema(operation_id="search_vector_store", request=SearchVectorStore, responses=SearchResults)
    def post(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        body: SearchVectorStore = self.body(SearchVectorStore)
        attribute_filter = filters.parse(body.filters)
        queries = [body.query] if isinstance(body.query, str) else body.query
        store = vector_stores.get(self.actor, vector_store_id, "run").public_id

        async def work() -> HttpResponseBase:
            file_query = FileQuery(
                [store],
                queries,
                filters=attribute_filter,
                max_results=body.max_num_results,
                score_threshold=body.ranking_options.score_threshold,
                mode=body.search_mode,
            )
            hits = await file_search.search(service().providers.part(Library), self.actor, file_query)
            return answer(SearchResults(search_query=queries, data=[_hit(hit) for hit in hits]))

        return Awaited(work)


def _hit(hit: FileSearchHit) -> SearchHit:
    return SearchHit(
        file_id=hit.file_id,
        filename=hit.filename,
        score=hit.score,
        attributes=dict(hit.attributes),
        content=[PassageText(text=hit.text)],
    )
