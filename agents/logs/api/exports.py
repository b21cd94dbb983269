"""``/v1/logs/<level>/export``: stream all rows a query accepts, as lines or as a table.

A batch of rows is read, off the event loop, when the client has consumed the one before; when the client
disconnects, the generator is closed and nothing more is read. Errors in the request are reported before the
first byte; a batch that cannot be read later aborts the connection, so that no client takes a part for all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import ClassVar

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.parameters import QUERY, ZONE, flag, names
from agents.base.api.views import ApiView, Awaited
from agents.base.reading import read
from agents.base.timestamps import to_datetime
from agents.logs.api.logs import SORT
from agents.logs.runner.export_requests import ExportRequest, encoders, read_request
from agents.logs.store import export
from agents.logs.store.export import ExportBatch
from agents.logs.wire.export import (
    TURN_FORMATS,
    TYPES,
    file_ending,
    media_type,
)
from agents.query.tree import Level


async def answer(export_request: ExportRequest) -> HttpResponseBase:
    """Return the stream once the first rows have been read. Raises Unavailable."""
    first = await read(export.batch, export_request.actor, export_request.query, export_request.order)
    stamp = to_datetime(ids.now_us()).strftime("%Y%m%d-%H%M%S")
    name = f"{export_request.query.level}s-{stamp}.{file_ending(export_request.format)}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "X-Accel-Buffering": "no",
    }
    return StreamingHttpResponse(
        _chunks(export_request, first), content_type=media_type(export_request.format), headers=headers
    )


async def _chunks(export_request: ExportRequest, first: ExportBatch) -> AsyncIterator[bytes]:
    if export_request.encoder.head:
        yield export_request.encoder.head
    batch = first
    while True:
        for work in encoders(export_request, batch.rows):
            chunk = await read(work)
            if chunk:
                yield chunk
        if batch.following is None:
            break
        batch = await read(
            export.batch, export_request.actor, export_request.query, export_request.order, batch.following
        )
    tail = await read(export_request.encoder.tail)
    if tail:
        yield tail


# ---------------------------------------------------------------------------------------------- routes


class _Export(ApiView):
    """Everything that a query accepts, newest first or in the order that ``sort`` says: as jsonl the rows of the list,
    one on a line (with ``whole=true`` each with its whole turn: under ``turn`` as the Agents API shows it, under
    ``record`` all that is known of it, which ``logs import`` reads back), as otlp the spans of each turn in
    OpenTelemetry's JSON and as atif its trajectory (turns only), as csv a flat table (``bom=true`` for spreadsheets
    that ask for it). ``format=parquet`` is the same table where the server has pyarrow, with ``whole=true`` with the
    two as columns of text. ``fields`` are names with commas between; ``meta.<path>``, and of steps ``args.<path>`` and
    ``result.<path>``, are values inside of JSON."""

    actions = {"get": "read"}
    level: ClassVar[Level]

    def respond(self, request: Request) -> HttpResponseBase:
        export_request = read_request(
            self.actor, self.level, {name: str(text) for name, text in request._request.GET.items()}
        )
        return Awaited(lambda: answer(export_request))


def _view(level: Level) -> type[ApiView]:
    """The view of one level, with its own entry in the OpenAPI."""
    formats = [*TYPES, *(TURN_FORMATS if level == "turn" else ())]
    own = [OpenApiParameter("format", str, enum=formats), names("fields", "Names of columns"), flag("bom")]

    @extend_schema(
        operation_id=f"export_{level}_log",
        parameters=[QUERY, ZONE, SORT, *own, *([flag("whole")] if level == "turn" else [])],
        responses={
            (200, media_type(name).partition(";")[0]): OpenApiTypes.BINARY if name == "parquet" else OpenApiTypes.STR
            for name in formats
        },
    )
    def get(self: _Export, request: Request) -> HttpResponseBase:
        return self.respond(request)

    return type(f"{level.title()}Export", (_Export,), {"level": level, "get": get, "__doc__": _Export.__doc__})


LEVELS: tuple[Level, ...] = ("turn", "session", "step", "response")
ROUTES: list[tuple[str, type[ApiView]]] = [(f"logs/{level}s/export", _view(level)) for level in LEVELS]
