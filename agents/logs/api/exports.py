"""``/v1/logs/<level>/export``: everything a query accepts, as a stream of lines or of a table.

A piece of rows is read, off the loop, when the client has taken the one before; when the client goes,
the generator is closed and nothing more is read. What can be refused is refused before the first byte;
a piece that cannot be read later breaks the connection off, so that nobody takes a part for the whole.
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
from agents.logs.store.export import Piece
from agents.logs.wire.export import ENDINGS, FORMATS, TYPES, Encoder, Format, encoder, line, read_format, with_whole
from agents.query import parser
from agents.query.tree import Level, Query
from agents.record.store import read_turns, turn_records
from agents.telemetry.wire import otlp, otlp_encoding

TRUE, FALSE = frozenset({"1", "true", "yes"}), frozenset({"", "0", "false", "no"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be exported, and how; ``whole`` with all of each turn."""

    actor: Actor
    query: Query
    format: Format
    encoder: Encoder
    whole: bool = False


def wanted(actor: Actor, level: Level, given: Mapping[str, str]) -> Wanted:
    """What the parameters of a request ask for. Raises InvalidRequest naming the one that is wrong."""
    query = parser.read(given.get("q", ""), now_us=ids.now_us(), zone=given.get("tz") or "UTC", level=level)
    format_, whole = read_format(given.get("format", "")), _flag(given, "whole")
    if format_ == "otlp" and level == "turn" and not given.get("fields"):
        return Wanted(actor, query, format_, Encoder(b"", _nothing), whole=True)
    if whole and (format_ != "jsonl" or level != "turn" or given.get("fields")):
        raise InvalidRequest("whole: only turns as jsonl, with all their fields, can be had whole.", param="whole")
    fields = [name.strip() for name in given.get("fields", "").split(",") if name.strip()]
    made = encoder(format_, level, fields, bom=_flag(given, "bom"))
    return Wanted(actor, query, format_, made, whole)


def _nothing(rows: Sequence[Any]) -> bytes:
    return b""


def _flag(given: Mapping[str, str], name: str) -> bool:
    text = given.get(name, "").lower()
    if text not in TRUE | FALSE:
        raise InvalidRequest(f"{name}: true or false.", param=name)
    return text in TRUE


async def answer(asked: Wanted) -> HttpResponseBase:
    """The stream, once the first rows are there. Raises Unavailable."""
    first = await read(export.piece, asked.actor, asked.query)
    stamp = to_datetime(ids.now_us()).strftime("%Y%m%d-%H%M%S")
    headers = {
        "Content-Disposition": f'attachment; filename="{asked.query.level}s-{stamp}.{ENDINGS[asked.format]}"',
        "X-Accel-Buffering": "no",
    }
    return StreamingHttpResponse(_parts(asked, first), content_type=TYPES[asked.format], headers=headers)


async def _parts(asked: Wanted, first: Piece) -> AsyncIterator[bytes]:
    if asked.encoder.head:
        yield asked.encoder.head
    found = first
    while True:
        for work in _work(asked, found):
            part = await read(work)
            if part:
                yield part
        if found.after is None:
            break
        found = await read(export.piece, asked.actor, asked.query, found.after)
    tail = await read(asked.encoder.tail)
    if tail:
        yield tail


def _work(asked: Wanted, found: Piece) -> Iterator[Callable[[], bytes]]:
    """What makes bytes of a piece; whole turns one by one, as each may be large."""
    if asked.whole:
        whole = _otlp if asked.format == "otlp" else _whole
        yield from (partial(whole, asked.actor, row) for row in found.rows)
    elif found.rows:
        yield partial(asked.encoder.encode, found.rows)


def _whole(actor: Actor, row: Any) -> bytes:
    """A row with all of its turn; nothing where that was deleted meanwhile."""
    try:
        turn = read_turns.turn(actor, row.id)
        return with_whole(line(row), turn_json(turn), turn_records.encoded(turn_records.of_value(actor, turn)))
    except NotFound:
        return b""


def _otlp(actor: Actor, row: Any) -> bytes:
    """The spans of a turn, as one request to a collector."""
    try:
        return otlp_encoding.line(otlp.spans(turn_records.read(actor, row.id), records=True))
    except NotFound:
        return b""


def sync_parts(asked: Wanted) -> Iterator[bytes]:
    """The same for those who write to a file."""
    yield asked.encoder.head
    after: int | None = None
    while True:
        found = export.piece(asked.actor, asked.query, after)
        yield from (work() for work in _work(asked, found))
        if found.after is None:
            break
        after = found.after
    yield asked.encoder.tail()


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

    def told(self, request: Request) -> HttpResponseBase:
        asked = wanted(self.actor, self.level, {name: str(text) for name, text in request._request.GET.items()})
        return Awaited(lambda: answer(asked))


def _view(level: Level) -> type[ApiView]:
    """The view of one level, with its own entry in the OpenAPI."""
    formats = [name for name in FORMATS if name != "otlp" or level == "turn"]
    own = [OpenApiParameter("format", str, enum=formats), names("fields", "Names of columns"), flag("bom")]

    @extend_schema(
        operation_id=f"export_{level}_log",
        parameters=[QUERY, ZONE, *own, *([flag("whole")] if level == "turn" else [])],
        responses={
            (200, TYPES[name].partition(";")[0]): OpenApiTypes.BINARY if name == "parquet" else OpenApiTypes.STR
            for name in formats
        },
    )
    def get(self: _Export, request: Request) -> HttpResponseBase:
        return self.told(request)

    return type(f"{level.title()}Export", (_Export,), {"level": level, "get": get, "__doc__": _Export.__doc__})


LEVELS: tuple[Level, ...] = ("turn", "session", "step", "response")
ROUTES: list[tuple[str, type[ApiView]]] = [(f"logs/{level}s/export", _view(level)) for level in LEVELS]
