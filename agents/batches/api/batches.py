"""OpenAI's batches: made of a file of requests, listed, described, cancelled."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.cursors import cursor
from agents.base.api.parameters import AFTER_ALONE, LIMIT
from agents.base.api.views import ApiView, answer
from agents.base.timestamps import to_us
from agents.batches.schemas.batches import (
    BatchError,
    BatchErrors,
    BatchList,
    BatchObject,
    BatchUsage,
    CreateBatch,
    InputTokenDetails,
    OutputTokenDetails,
    RequestCounts,
)
from agents.batches.store import batches
from agents.batches.store.batches import BatchRow

_MOMENTS = (
    *("created_at", "in_progress_at", "expires_at", "finalizing_at", "completed_at", "failed_at", "expired_at"),
    *("cancelling_at", "cancelled_at"),
)


def batch_object(row: BatchRow) -> BatchObject:
    """A batch as the API shows it."""
    columns = row.columns
    moments = {name: None if columns[name] is None else to_us(columns[name]) // 1_000_000 for name in _MOMENTS}
    return BatchObject(
        id=ids.openai(ids.Kind.BATCH, row.key),
        endpoint=columns["endpoint"],
        model=columns["model"] or None,
        errors=_errors(columns["errors"]),
        input_file_id=columns["input_file_id"],
        status=columns["status"],
        output_file_id=_file_id(columns["output_file"]),
        error_file_id=_file_id(columns["error_file"]),
        request_counts=RequestCounts(**{name: columns[name] for name in ("total", "completed", "failed")}),
        usage=_usage(columns),
        metadata=columns["metadata"],
        **moments,
    )


def _errors(encoded: str) -> BatchErrors | None:
    return BatchErrors(data=[BatchError(**error) for error in msgspec.json.decode(encoded)]) if encoded else None


def _file_id(key: int | None) -> str | None:
    return None if key is None else ids.openai(ids.Kind.FILE, key)


def _usage(columns: dict[str, Any]) -> BatchUsage:
    return BatchUsage(
        input_tokens=columns["input_tokens"],
        input_tokens_details=InputTokenDetails(cached_tokens=columns["cached_tokens"]),
        output_tokens=columns["output_tokens"],
        output_tokens_details=OutputTokenDetails(reasoning_tokens=columns["reasoning_tokens"]),
        total_tokens=columns["input_tokens"] + columns["output_tokens"],
    )


class BatchListView(ApiView):
    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="create_batch", request=CreateBatch, responses=BatchObject)
    def post(self, request: Request) -> HttpResponseBase:
        return answer(batch_object(batches.create(self.actor, self.body(CreateBatch))))

    @extend_schema(operation_id="list_batches", parameters=[AFTER_ALONE, LIMIT], responses=BatchList)
    def get(self, request: Request) -> HttpResponseBase:
        rows, has_more = batches.listing(self.actor, cursor(request._request))
        data = [batch_object(row) for row in rows]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(BatchList(data=data, first_id=first, last_id=last, has_more=has_more))


class BatchDetail(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_batch", responses=BatchObject)
    def get(self, request: Request, job_id: str) -> HttpResponseBase:
        return answer(batch_object(batches.get(self.actor, job_id)))


class BatchCancel(ApiView):
    """Begin no more requests; those that run end within ten minutes."""

    actions = {"post": "run"}

    @extend_schema(operation_id="cancel_batch", request=None, responses=BatchObject)
    def post(self, request: Request, job_id: str) -> HttpResponseBase:
        return answer(batch_object(batches.cancel(self.actor, job_id)))
