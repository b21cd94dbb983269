"""Files on the wire: OpenAI's ``/v1/files``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from agents.base.schemas.wire import Wire, WireOutput

Purpose = Literal[
    "assistants",
    "assistants_output",
    "batch",
    "batch_output",
    "fine-tune",
    "fine-tune-results",
    "vision",
    "user_data",
    "evals",
]
HOUR_S, MONTH_S = 3_600, 2_592_000


class FileExpiry(Wire):
    """When a file goes, in seconds after its upload: an hour to thirty days."""

    anchor: Literal["created_at"]
    seconds: int = Field(ge=HOUR_S, le=MONTH_S)


class FileForm(Wire):
    """The fields of an upload beside the file."""

    purpose: Purpose
    expires_after: FileExpiry | None = None


class FileUpload(FileForm):
    """An upload as multipart form: ``expires_after`` as ``expires_after[anchor]`` and
    ``expires_after[seconds]``, or as JSON in one field."""

    file: Annotated[Any, WithJsonSchema({"type": "string", "format": "binary"})]


class FileObject(WireOutput):
    """Times in seconds since 1970; ``expires_at`` is null for a file that stays."""

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: int
    expires_at: int | None
    filename: str
    purpose: Purpose
    status: Literal["processed"] = "processed"
    status_details: str | None = None


class FileListObject(WireOutput):
    object: Literal["list"] = "list"
    data: list[FileObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileDeleted(WireOutput):
    id: str
    object: Literal["file"] = "file"
    deleted: bool = True
