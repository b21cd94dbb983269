"""What an export asks for, and its rows as bytes: for the API, for pages, commands and archives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.llama_stack.wire import turn_json
from agents.logs.schemas.sorting import NEWEST_FIRST, SortOrder, read_order
from agents.logs.store import data_columns, export
from agents.logs.store.data_columns import DataColumn
from agents.logs.wire.export import TURN_FORMATS, WHOLE_COLUMNS, Data, RowEncoder, encoder, read_format
from agents.query import parser
from agents.query.tree import Level, Query
from agents.record.schemas.records import TurnRecord
from agents.record.store import read_turns, turn_records

WHOLE_FORMATS = frozenset({"jsonl", "parquet"})
"""Formats of rows that can have the whole of each turn besides."""
TRUE, FALSE = frozenset({"1", "true", "yes"}), frozenset({"", "0", "false", "no"})


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The parameters of an export; with ``full_turns`` each row includes its turn. ``data`` are the columns that are
    no fields of rows."""

    actor: Actor
    query: Query
    format: str
    encoder: RowEncoder
    full_turns: bool = False
    order: SortOrder = NEWEST_FIRST
    data: Sequence[DataColumn] = ()


def read_request(actor: Actor, level: Level, params: Mapping[str, str]) -> ExportRequest:
    """Read the parameters of a request. Raises InvalidRequest with the name of the wrong one."""
    query = parser.read(params.get("q", ""), now_us=ids.now_us(), zone=params.get("tz") or "UTC", level=level)
    order = read_order(params.get("sort", ""))
    format_, full_turns = read_format(params.get("format", "")), _flag(params, "whole")
    if format_ in TURN_FORMATS and level == "turn" and not params.get("fields"):
        return ExportRequest(actor, query, format_, RowEncoder(b"", _no_rows), full_turns=True, order=order)
    if full_turns and (format_ not in WHOLE_FORMATS or level != "turn" or params.get("fields")):
        message = "whole: only turns as jsonl or parquet, with all their fields, can be had whole."
        raise InvalidRequest(message, param="whole")
    fields = [name.strip() for name in params.get("fields", "").split(",") if name.strip()]
    data = data_columns.read(level, fields)
    names = [column.name for column in data]
    row_encoder = encoder(format_, level, fields, bom=_flag(params, "bom"), data=names, whole=full_turns)
    return ExportRequest(actor, query, format_, row_encoder, full_turns, order, data)


def _no_rows(rows: Sequence[Any], data: Data = ()) -> bytes:
    return b""


def _flag(params: Mapping[str, str], name: str) -> bool:
    text = params.get(name, "").lower()
    if text not in TRUE | FALSE:
        raise InvalidRequest(f"{name}: true or false.", param=name)
    return text in TRUE


def encoders(export_request: ExportRequest, rows: Sequence[Any]) -> Iterator[Callable[[], bytes]]:
    """Yield functions that encode rows; full turns one by one, as each may be large."""
    if export_request.full_turns:
        turn_format = TURN_FORMATS.get(export_request.format)
        encode_turn = partial(_turn, turn_format.encode) if turn_format else partial(whole_turn, export_request.encoder)
        yield from (partial(encode_turn, export_request.actor, row) for row in rows)
    elif rows:
        yield partial(_rows, export_request, rows)


def _rows(export_request: ExportRequest, rows: Sequence[Any]) -> bytes:
    data = data_columns.values(export_request.query.level, rows, export_request.data) if export_request.data else ()
    return export_request.encoder.encode(rows, data)


def whole_turn(row_encoder: RowEncoder, actor: Actor, row: Any) -> bytes:
    """Encode a row of the log with its whole turn (`WHOLE_COLUMNS`); nothing where that was deleted meanwhile."""
    try:
        turn = read_turns.turn(actor, row.id)
        record = turn_records.encoded(turn_records.of_snapshot(actor, turn))
    except NotFound:
        return b""
    whole = (msgspec.Raw(content) for content in (turn_json(turn), record))
    return row_encoder.encode([row], [dict(zip(WHOLE_COLUMNS, whole, strict=True))])


def _turn(encode: Callable[[TurnRecord], bytes], actor: Actor, row: Any) -> bytes:
    """Encode a turn in a format of full turns; nothing where it was deleted meanwhile."""
    try:
        return encode(turn_records.read(actor, row.id))
    except NotFound:
        return b""


def sync_chunks(export_request: ExportRequest) -> Iterator[bytes]:
    """Yield the bytes of an export, without asyncio, for a command that writes a file."""
    yield export_request.encoder.head
    batch = export.batch(export_request.actor, export_request.query, export_request.order)
    while True:
        yield from (work() for work in encoders(export_request, batch.rows))
        if batch.following is None:
            break
        batch = export.batch(export_request.actor, export_request.query, export_request.order, batch.following)
    yield export_request.encoder.tail()
