"""The files of a vector store, one by one and in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api import large_answers
from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.lists import array
from agents.base.api.views import ApiView, answer, as_json
from agents.base.errors import InvalidRequest
from agents.knowledge.api.vector_stores import counts_of
from agents.knowledge.runner.indexing import Indexer
from agents.knowledge.schemas.vector_stores import (
    AttachFile,
    CreateFileBatch,
    FileBatchObject,
    PassageText,
    StaticChunking,
    StaticStrategy,
    StoreFileContent,
    StoreFileDeleted,
    StoreFileError,
    StoreFileListObject,
    StoreFileObject,
    UpdateStoreFile,
    chunking_of,
)
from agents.knowledge.store import vector_files
from agents.knowledge.store.vector_files import BatchRecord, NewStoreFile, StoreFile
from agents.loop.current_service import service

STATUSES = ("in_progress", "completed", "failed", "cancelled")
POLL_MS = "200"
"""How soon to ask again, for clients that wait: most files take less than a second."""
_LIST_PARAMETERS = [*CURSOR_PARAMETERS, OpenApiParameter("filter", str, enum=STATUSES)]


def _object(store: str, file: StoreFile) -> StoreFileObject:
    chunking = StaticChunking.model_construct(max_chunk_size_tokens=file.tokens, chunk_overlap_tokens=file.overlap)
    error = StoreFileError(code=file.error_code, message=file.error) if file.status == "failed" else None
    return StoreFileObject(
        id=file.file_id,
        created_at=file.created_at // 1_000_000,
        status=file.status,
        last_error=error,
        usage_bytes=file.size,
        vector_store_id=store,
        attributes=dict(file.attributes),
        chunking_strategy=StaticStrategy.model_construct(type="static", static=chunking),
    )


def _batch_object(store: str, batch: BatchRecord) -> FileBatchObject:
    return FileBatchObject(
        id=batch.public_id,
        created_at=batch.created_at // 1_000_000,
        status=batch.status,
        vector_store_id=store,
        file_counts=counts_of(batch.counts),
    )


def _pollable(value: StoreFileObject | FileBatchObject) -> HttpResponseBase:
    """An object that may not be done yet."""
    response = answer(value)
    response["openai-poll-after-ms"] = POLL_MS
    return response


def _new_files(entries: Sequence[AttachFile]) -> list[NewStoreFile]:
    sizes = [chunking_of(entry.chunking_strategy) for entry in entries]
    return [
        NewStoreFile(entry.file_id, size.max_chunk_size_tokens, size.chunk_overlap_tokens, entry.attributes)
        for entry, size in zip(entries, sizes, strict=True)
    ]


class _Files(ApiView):
    """What a store's list of files and a batch's share."""

    actions = {}

    def _page(self, store: str, batch: str | None = None) -> HttpResponseBase:
        http_request = self.request._request
        status = http_request.GET.get("filter", "")
        if status and status not in STATUSES:
            raise InvalidRequest(f"filter: one of {', '.join(STATUSES)}.", param="filter")
        records, has_more = vector_files.listing(self.actor, store, cursor(http_request), status=status, batch=batch)
        data = [_object(store, file) for file in records]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(StoreFileListObject(data=data, first_id=first, last_id=last, has_more=has_more))


class StoreFileListView(_Files):
    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="list_vector_store_files", parameters=_LIST_PARAMETERS, responses=StoreFileListObject)
    def get(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        return self._page(vector_store_id)

    @extend_schema(operation_id="create_vector_store_file", request=AttachFile, responses=StoreFileObject)
    def post(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        """Put a file into a store; it is read behind the request's back."""
        body: AttachFile = self.body(AttachFile)
        indexer = service().part(Indexer)
        added = vector_files.add(self.actor, vector_store_id, _new_files([body]), indexer.owner)
        indexer.start(added.work)
        return _pollable(_object(vector_store_id, vector_files.get(self.actor, vector_store_id, body.file_id, "run")))


class StoreFileDetail(ApiView):
    actions = {"get": "read", "post": "run", "delete": "manage"}

    @extend_schema(operation_id="get_vector_store_file", responses=StoreFileObject)
    def get(self, request: Request, vector_store_id: str, file_id: str) -> HttpResponseBase:
        return _pollable(_object(vector_store_id, vector_files.get(self.actor, vector_store_id, file_id)))

    @extend_schema(operation_id="update_vector_store_file", request=UpdateStoreFile, responses=StoreFileObject)
    def post(self, request: Request, vector_store_id: str, file_id: str) -> HttpResponseBase:
        """Give a file other attributes."""
        body: UpdateStoreFile = self.body(UpdateStoreFile)
        file = vector_files.describe(self.actor, vector_store_id, file_id, body.attributes)
        return answer(_object(vector_store_id, file))

    @extend_schema(operation_id="delete_vector_store_file", responses=StoreFileDeleted)
    def delete(self, request: Request, vector_store_id: str, file_id: str) -> HttpResponseBase:
        """Take a file out of a store; the file itself stays."""
        vector_files.remove(self.actor, vector_store_id, file_id)
        return answer(StoreFileDeleted(id=file_id))


class StoreFileText(ApiView):
    """What was read in a file, in chunks."""

    actions = {"get": "read"}

    @extend_schema(operation_id="get_vector_store_file_content", responses=StoreFileContent)
    def get(self, request: Request, vector_store_id: str, file_id: str) -> HttpResponseBase:
        file = vector_files.get(self.actor, vector_store_id, file_id)
        return large_answers.answer(0, _text_chunks(file))


def _text_chunks(file: StoreFile) -> Iterator[bytes]:
    """The text of a file, twice: as the two APIs have it."""
    fields = {"file_id": file.file_id, "filename": file.filename, "attributes": dict(file.attributes)}
    encoded = as_json(StoreFileContent(data=[], content=[], **fields))
    head, remaining = encoded.split(b'"data":[', 1)
    middle, tail = remaining.rsplit(b'"content":[', 1)
    yield from array(head + b'"data":[', _texts(file), middle)
    yield from array(b'"content":[', _texts(file), tail)


def _texts(file: StoreFile) -> Iterator[tuple[bytes]]:
    return ((as_json(PassageText(text=text)),) for text in vector_files.texts(file))


class FileBatchCreate(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="create_file_batch", request=CreateFileBatch, responses=FileBatchObject)
    def post(self, request: Request, vector_store_id: str) -> HttpResponseBase:
        """Put several files into a store, each on its own terms."""
        body: CreateFileBatch = self.body(CreateFileBatch)
        indexer = service().part(Indexer)
        added = vector_files.add(self.actor, vector_store_id, _new_files(body.entries), indexer.owner, batch=True)
        indexer.start(added.work)
        assert added.batch is not None  # it was asked for
        public = ids.openai(ids.Kind.FILE_BATCH, added.batch)
        return _pollable(
            _batch_object(vector_store_id, vector_files.get_batch(self.actor, vector_store_id, public, "run"))
        )


class FileBatchDetail(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_file_batch", responses=FileBatchObject)
    def get(self, request: Request, vector_store_id: str, batch_id: str) -> HttpResponseBase:
        return _pollable(_batch_object(vector_store_id, vector_files.get_batch(self.actor, vector_store_id, batch_id)))


class FileBatchFiles(_Files):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_file_batch_files", parameters=_LIST_PARAMETERS, responses=StoreFileListObject)
    def get(self, request: Request, vector_store_id: str, batch_id: str) -> HttpResponseBase:
        return self._page(vector_store_id, batch_id)


class FileBatchCancel(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="cancel_file_batch", request=None, responses=FileBatchObject)
    def post(self, request: Request, vector_store_id: str, batch_id: str) -> HttpResponseBase:
        """Stop what is not done yet."""
        return answer(_batch_object(vector_store_id, vector_files.cancel(self.actor, vector_store_id, batch_id)))
