"""Batches on the wire: OpenAI's ``/v1/batches``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agents.base.schemas.wire import Wire, WireOutput
from agents.knowledge.schemas.files import FileExpiry
from agents.responses.schemas.objects import Metadata

Endpoint = Literal["/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions"]
BatchStatus = Literal[
    "validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"
]


class CreateBatch(Wire):
    """``output_expires_after`` counts from when the files of answers and errors are made."""

    input_file_id: Annotated[str, Field(min_length=1, max_length=100)]
    endpoint: Endpoint
    completion_window: Literal["24h"]
    metadata: Metadata | None = None
    output_expires_after: FileExpiry | None = None


class BatchError(WireOutput):
    """What is wrong with the file; ``line`` counts from 1."""

    code: str
    message: str
    line: int | None = None
    param: str | None = None


class BatchErrors(WireOutput):
    object: Literal["list"] = "list"
    data: list[BatchError]


class RequestCounts(WireOutput):
    total: int
    completed: int
    failed: int


class InputTokenDetails(WireOutput):
    cached_tokens: int


class OutputTokenDetails(WireOutput):
    reasoning_tokens: int


class BatchUsage(WireOutput):
    input_tokens: int
    input_tokens_details: InputTokenDetails
    output_tokens: int
    output_tokens_details: OutputTokenDetails
    total_tokens: int


class BatchObject(WireOutput):
    """Times in seconds since 1970."""

    id: str
    object: Literal["batch"] = "batch"
    endpoint: str
    model: str | None
    errors: BatchErrors | None
    input_file_id: str
    completion_window: Literal["24h"] = "24h"
    status: BatchStatus
    output_file_id: str | None
    error_file_id: str | None
    created_at: int
    in_progress_at: int | None
    expires_at: int
    finalizing_at: int | None
    completed_at: int | None
    failed_at: int | None
    expired_at: int | None
    cancelling_at: int | None
    cancelled_at: int | None
    request_counts: RequestCounts
    usage: BatchUsage
    metadata: dict[str, str] | None


class BatchList(WireOutput):
    object: Literal["list"] = "list"
    data: list[BatchObject]
    first_id: str | None
    last_id: str | None
    has_more: bool
