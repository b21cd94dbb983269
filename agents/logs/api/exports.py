"""``/v1/logs/<level>/export``: stream all rows a query accepts, as lines or as a table.

A batch of rows is read, off the event loop, when the client has consumed the one before; when the client
disconnects, the generator is closed and nothing more is read. Errors in the request are reported before the
first byte; a batch that cannot be read later aborts the connection, so that no client takes a part for all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Actor
from agents.base.api.parameters import QUERY, ZONE, flag, names
from agents.base.api.views import ApiView, Awaited
from agents.base.errors import InvalidRequest, NotFound
from agents.base.reading import read
from agents.base.timestamps import to_datetime
from agents.llama_stack.wire import turn_json
from agents.logs.store import export
from agents.logs.store.export import ExportBatch
from agents.logs.wire.export import (
    TURN_FORMATS,
    TYPES,
    RowEncoder,
    encoder,
    file_ending,
    line,
    media_type,
    read_format,
    with_turn,
)
from agents.query import parser
from agents.query.tree import Level, Query
from agents.record.schemas.records import TurnRecord
from agents.record.store import read_turns, turn_records

TRUE, FALSE = frozenset({"1", "true", "yes"}), frozenset({"", "0", "false", "no"})


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The parameters of an export; with ``full_turns`` each row includes its turn."""

    actor: Actor
    query: Query
    format: str
    encoder: RowEncoder
    full_turns: bool = False


def read_request(actor: Actor, level: Level, params: Mapping[str, str]) -> ExportRequest:
    """Read the parameters of a request. Raises InvalidRequest with the name of the wrong one."""
    query = parser.read(params.get("q", ""), now_us=ids.now_us(), zone=params.get("tz") or "UTC", level=level)
    format_, full_turns = read_format(params.get("format", "")), _flag(params, "whole")
    if format_ in TURN_FORMATS and level == "turn" and not params.get("fields"):
        return ExportRequest(actor, query, format_, RowEncoder(b"", _no_rows), full_turns=True)
    if full_turns and (format_ != "jsonl" or level != "turn" or params.get("fields")):
        raise InvalidRequest("whole: only turns as jsonl, with all their fields, can be had whole.", param="whole")
    fields = [name.strip() for name in params.get("fields", "").split(",") if name.strip()]
    row_encoder = encoder(format_, level, fields, bom=_flag(params, "bom"))
    return ExportRequest(actor, query, format_, row_encoder, full_turns)


def _no_rows(rows: Sequence[Any]) -> bytes:
    return b""


def _flag(params: Mapping[str, str], name: str) -> bool:
    text = params.get(name, "").lower()
    if text not in TRUE | FALSE:
        raise InvalidRequest(f"{name}: true or false.", param=name)
    return text in TRUE


async def answer(export_request: ExportRequest) -> HttpResponseBase:
    """Return the stream once the first rows have been read. Raises Unavailable."""
    first = await read(export.batch, export_request.actor, export_request.query)
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
        for work in _encoders(export_request, batch):
            chunk = await read(work)
            if chunk:
                yield chunk
        if batch.after is None:
            break
        batch = await read(export.batch, export_request.actor, export_request.query, batch.after)
    tail = await read(export_request.encoder.tail)
    if tail:
        yield tail


def _encoders(export_request: ExportRequest, batch: ExportBatch) -> Iterator[Callable[[], bytes]]:
    """Yield functions that encode a batch; full turns one by one, as each may be large."""
    if export_request.full_turns:
        turn_format = TURN_FORMATS.get(export_request.format)
        encode_turn = partial(_turn, turn_format.encode) if turn_format else _with_turn
        yield from (partial(encode_turn, export_request.actor, row) for row in batch.rows)
    elif batch.rows:
        yield partial(export_request.encoder.encode, batch.rows)


def _with_turn(actor: Actor, row: Any) -> bytes:
    """Encode a row with its full turn; nothing where that was deleted meanwhile."""
    try:
        turn = read_turns.turn(actor, row.id)
        return with_turn(line(row), turn_json(turn), turn_records.encoded(turn_records.of_snapshot(actor, turn)))
    except NotFound:
        return b""


def _turn(encode: Callable[[TurnRecord], bytes], actor: Actor, row: Any) -> bytes:
    """Encode a turn in a format of full turns; nothing where it was deleted meanwhile."""
    try:
        return encode(turn_records.read(actor, row.id))
    except NotFound:
        return b""


def sync_chunks(export_request: ExportRequest) -> Iterator[bytes]:
    """Yield the same without asyncio, for a command that writes a file."""
    yield export_request.encoder.head
    after: int | None = None
    while True:
        batch = export.batch(export_request.actor, export_request.query, after)
        yield from (work() for work in _encoders(export_request, batch))
        if batch.after is None:
            break
        after = batch.after
    yield export_request.encoder.tail()


# ---------------------------------------------------------------------------------------------- routes


class _Export(ApiView):
    """Everything that a query accepts, newest first: as jsonl the rows of the list, one on a line (with
    ``whole=true`` each with its whole turn: under ``turn`` as the Agents API shows it, under ``record`` all
    that is known of it, which ``logs import`` reads back), as otlp the
    spans of each turn in OpenTelemetry's JSON (turns only), as csv a flat table (``bom=true`` for
    spreadsheets that ask for it). ``format=parquet`` is the same table where
    the server has pyarrow. ``fields`` are names with commas between."""

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
        parameters=[QUERY, ZONE, *own, *([flag("whole")] if level == "turn" else [])],
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
