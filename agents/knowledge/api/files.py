"""OpenAI's files: uploaded, listed, described, given back, deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import quote

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.forms import FORM
from agents.base.api.views import ApiView, answer
from agents.base.reading import read
from agents.knowledge.api.uploads import read_upload
from agents.knowledge.schemas.files import FileDeleted, FileListObject, FileObject, FileUpload
from agents.knowledge.store import files
from agents.knowledge.store.files import BLOCK_BYTES, FileRecord, NewFile

PAGE_SIZE = MAX_PAGE_SIZE = 10_000
OCTET_STREAM = "application/octet-stream"


def file_object(file: FileRecord) -> FileObject:
    """A file as the API shows it."""
    return FileObject(
        id=file.public_id,
        bytes=file.size,
        created_at=file.created_at // 1_000_000,
        expires_at=None if file.expires_at is None else file.expires_at // 1_000_000,
        filename=file.filename,
        purpose=file.purpose,
    )


class FileListView(ApiView):
    """Files, and a new one: the only request that is a form."""

    takes = "upload"
    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="upload_file", request={FORM: FileUpload}, responses=FileObject)
    def post(self, request: Request) -> HttpResponseBase:
        upload = read_upload(request._request)
        expiry = upload.form.expires_after
        new = NewFile(upload.filename, upload.form.purpose, upload.mime_type, expiry.seconds if expiry else None)
        return answer(file_object(files.create(self.actor, new, upload.blocks(BLOCK_BYTES))))

    @extend_schema(
        operation_id="list_files",
        parameters=[*CURSOR_PARAMETERS, OpenApiParameter("purpose", str)],
        responses=FileListObject,
    )
    def get(self, request: Request) -> HttpResponseBase:
        http_request = request._request
        records, has_more = files.listing(
            self.actor, cursor(http_request, PAGE_SIZE, MAX_PAGE_SIZE), purpose=http_request.GET.get("purpose", "")
        )
        data = [file_object(file) for file in records]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(FileListObject(data=data, first_id=first, last_id=last, has_more=has_more))


class FileDetail(ApiView):
    actions = {"get": "read", "delete": "manage"}

    @extend_schema(operation_id="get_file", responses=FileObject)
    def get(self, request: Request, file_id: str) -> HttpResponseBase:
        return answer(file_object(files.get(self.actor, file_id)))

    @extend_schema(operation_id="delete_file", responses=FileDeleted)
    def delete(self, request: Request, file_id: str) -> HttpResponseBase:
        """Delete a file, also out of the vector stores it is in."""
        files.delete(self.actor, file_id)
        return answer(FileDeleted(id=file_id))


class FileContent(ApiView):
    """A file's content as it was uploaded."""

    actions = {"get": "read"}

    @extend_schema(operation_id="get_file_content", responses={(200, OCTET_STREAM): OpenApiTypes.BINARY})
    def get(self, request: Request, file_id: str) -> HttpResponseBase:
        file = files.get(self.actor, file_id)
        headers = {
            "Content-Length": str(file.size),
            # nothing that somebody uploaded is shown as a page of this server's
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.filename, safe='')}",
        }
        return StreamingHttpResponse(_blocks(file), content_type=OCTET_STREAM, headers=headers)


async def _blocks(file: FileRecord) -> AsyncIterator[bytes]:
    for position in range(-(-file.size // BLOCK_BYTES)):
        block = await read(files.block, file.key, position)
        if block is None:
            return  # it was deleted meanwhile; the length says that something is missing
        yield block
