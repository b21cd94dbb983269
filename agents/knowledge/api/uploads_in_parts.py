"""OpenAI's uploads: a file that comes in parts."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.forms import FORM
from agents.base.api.views import ApiView, answer
from agents.knowledge.api.files import file_object
from agents.knowledge.api.uploads import blocks_of, read_part
from agents.knowledge.schemas.uploads import CompleteUpload, CreateUpload, PartForm, UploadObject, UploadPartObject
from agents.knowledge.store import uploads
from agents.knowledge.store.files import BLOCK_BYTES, FileRecord, NewFile
from agents.knowledge.store.uploads import UploadRecord


def upload_object(upload: UploadRecord, file: FileRecord | None = None) -> UploadObject:
    """An upload as the API shows it."""
    return UploadObject(
        id=upload.public_id,
        bytes=upload.size,
        created_at=upload.created_at // 1_000_000,
        expires_at=upload.expires_at // 1_000_000,
        filename=upload.filename,
        purpose=upload.purpose,
        status=upload.status,
        file=None if file is None else file_object(file),
    )


class UploadCreate(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="create_upload", request=CreateUpload, responses=UploadObject)
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateUpload = self.body(CreateUpload)
        lives_s = body.expires_after.seconds if body.expires_after else None
        new = NewFile(body.filename, body.purpose, body.mime_type, lives_s)
        return answer(upload_object(uploads.create(self.actor, new, body.bytes)))


class UploadParts(ApiView):
    """A part of the file: a request that is a form."""

    takes = "upload"
    actions = {"post": "run"}

    @extend_schema(operation_id="add_upload_part", request={FORM: PartForm}, responses=UploadPartObject)
    def post(self, request: Request, upload_id: str) -> HttpResponseBase:
        upload = uploads.get(self.actor, upload_id)
        part = read_part(request._request)
        key = uploads.add_part(self.actor, upload_id, part.size or 0, blocks_of(part, BLOCK_BYTES))
        public, created = ids.openai(ids.Kind.UPLOAD_PART, key), ids.key_time_us(key) // 1_000_000
        return answer(UploadPartObject(id=public, created_at=created, upload_id=upload.public_id))


class UploadComplete(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="complete_upload", request=CompleteUpload, responses=UploadObject)
    def post(self, request: Request, upload_id: str) -> HttpResponseBase:
        body: CompleteUpload = self.body(CompleteUpload)
        return answer(upload_object(*uploads.complete(self.actor, upload_id, body.part_ids, body.md5)))


class UploadCancel(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="cancel_upload", request=None, responses=UploadObject)
    def post(self, request: Request, upload_id: str) -> HttpResponseBase:
        return answer(upload_object(uploads.cancel(self.actor, upload_id)))
