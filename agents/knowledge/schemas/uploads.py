"""Uploads in parts on the wire: OpenAI's ``/v1/uploads``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from agents.base.schemas.wire import Wire, WireOutput
from agents.knowledge.schemas.files import FileExpiry, FileObject, Purpose

MAX_PARTS = 10_000
"""Parts of one upload."""


class CreateUpload(Wire):
    """``bytes`` is the size of the whole file."""

    bytes: int = Field(ge=1)
    filename: str = Field(min_length=1, max_length=500)
    mime_type: str = Field(max_length=200)
    purpose: Purpose
    expires_after: FileExpiry | None = None


class CompleteUpload(Wire):
    """The parts in their order; ``md5`` is the checksum of the whole file in hexadecimal digits."""

    part_ids: list[Annotated[str, Field(max_length=200)]] = Field(min_length=1, max_length=MAX_PARTS)
    md5: str | None = Field(default=None, pattern=r"^[0-9a-fA-F]{32}$")


class PartForm(Wire):
    """A part as multipart form."""

    data: Annotated[Any, WithJsonSchema({"type": "string", "format": "binary"})]


class UploadObject(WireOutput):
    """Times in seconds since 1970; ``file`` is null until the upload is completed."""

    id: str
    object: Literal["upload"] = "upload"
    bytes: int
    created_at: int
    expires_at: int
    filename: str
    purpose: Purpose
    status: Literal["pending", "completed", "cancelled", "expired"]
    file: FileObject | None


class UploadPartObject(WireOutput):
    id: str
    object: Literal["upload.part"] = "upload.part"
    created_at: int
    upload_id: str
