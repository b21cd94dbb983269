"""Encode rows of the logs as files: lines of JSON, or a table: CSV (RFC 4180) that a spreadsheet opens safely, or
Parquet.

A table is flat: an object in a row has a column for each of its values (``usage.total_tokens``), lists of
texts are joined, and lists of objects (the steps of the sparkline) are left out.
"""

from __future__ import annotations

import csv
import io
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import msgspec
from pydantic import BaseModel

from agents.base.errors import InvalidRequest
from agents.logs.schemas.numbers import Groups, Stats
from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.logs.wire.formulas import is_formula
from agents.logs.wire.parquet import ParquetWriter
from agents.record.schemas.records import TurnRecord

TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""The formats of rows. Those of full turns are in `TURN_FORMATS`."""
ROWS: dict[str, type[BaseModel]] = {"turn": TurnRow, "session": SessionRow, "step": StepRow, "response": ResponseRow}
WHOLE_COLUMNS = ("turn", "record")
"""What a row of a whole turn has besides: the turn as in the Agents API, and the complete record, which can be imported
again (`agents.record.schemas.records`); in Parquet as texts of JSON."""
BOM = "\ufeff".encode()
_OMITTED = frozenset({"last_turn", "steps"})
"""Fields that are neither a value nor a flat object: a row in a row, a list of objects."""


@dataclass(frozen=True, slots=True)
class TurnFormat:
    """A format of full turns: ``encode`` makes the bytes of one. ``ending`` is the file extension."""

    type: str
    ending: str
    encode: Callable[[TurnRecord], bytes]


TURN_FORMATS: dict[str, TurnFormat] = {}
"""By name; subjects that are installed add theirs."""


def media_type(format_: str) -> str:
    """The content type of a format."""
    return TURN_FORMATS[format_].type if format_ in TURN_FORMATS else TYPES[format_]


def file_ending(format_: str) -> str:
    """The extension of a file of a format."""
    return TURN_FORMATS[format_].ending if format_ in TURN_FORMATS else format_


Data = Sequence[Mapping[str, Any]]
"""For each row the values of the columns that are no fields of it, by name; empty where there are none."""


class EncodeRows(Protocol):
    def __call__(self, rows: Sequence[Any], data: Data = ()) -> bytes: ...


@dataclass(frozen=True, slots=True)
class RowEncoder:
    """Encodes rows as bytes: ``head`` comes before the first row, ``tail`` after the last."""

    head: bytes
    encode: EncodeRows
    tail: Callable[[], bytes] = bytes


def encoder(
    format_: str,
    level: str,
    fields: Sequence[str] | None = None,
    *,
    bom: bool = False,
    data: Collection[str] = (),
    whole: bool = False,
) -> RowEncoder:
    """Return the encoder of a format. ``fields`` are the columns in order, all by default; those in ``data`` are no
    fields of rows, nor are `WHOLE_COLUMNS`, which a table has if it is ``whole``. Raises InvalidRequest for one that
    there is not, and for a format of full turns."""
    if format_ in TURN_FORMATS:
        message = f"format: {format_} is for turns that are exported whole, with all their fields."
        raise InvalidRequest(message, param="format")
    if format_ == "jsonl":
        return _lines(level, fields, data)
    names = _checked_fields(fields, columns(level), data)
    if whole:
        names = [*names, *WHOLE_COLUMNS]
    if format_ == "parquet":
        return _parquet(level, names)
    head = (BOM if bom else b"") + _table([names])
    return RowEncoder(head, lambda rows, data=(): _table(_cells(values, names) for values in _flat_rows(rows, data)))


def read_format(text: str) -> str:
    """Return the format of this name, by default jsonl. Raises InvalidRequest."""
    name = text or "jsonl"
    if name not in TYPES and name not in TURN_FORMATS:
        more = f", and {' or '.join(TURN_FORMATS)} for turns" if TURN_FORMATS else ""
        raise InvalidRequest(f"format: jsonl, csv or parquet{more}.", param="format")
    return name


def _checked_fields(fields: Sequence[str] | None, names: Sequence[str], data: Collection[str]) -> Sequence[str]:
    if not fields:
        return names
    unknown = next((name for name in fields if name not in names and name not in data), None)
    if unknown is not None:
        more = "meta.<path>, and of steps args.<path> and result.<path>"
        message = f"fields: there is no '{unknown[:80]}'; there are {', '.join(names)}, {more}."
        raise InvalidRequest(message, param="fields")
    return list(dict.fromkeys(fields))


# --------------------------------------------------------------------------------------------- lines


def _lines(level: str, fields: Sequence[str] | None, data: Collection[str]) -> RowEncoder:
    only = set(_checked_fields(fields, list(ROWS[level].model_fields), data)) - set(data) if fields else None
    return RowEncoder(
        b"", lambda rows, data=(): b"".join(_with_data(line(row, only), own) for row, own in _paired(rows, data))
    )


def _with_data(line: bytes, data: Mapping[str, Any]) -> bytes:
    if not data:
        return line
    return line[:-2] + (b"," if len(line) > len(b"{}\n") else b"") + msgspec.json.encode(data)[1:] + b"\n"


def line(row: BaseModel, only: set[str] | None = None) -> bytes:
    """Encode a row as a line of JSON."""
    return row.__pydantic_serializer__.to_json(row, include=only) + b"\n"


# --------------------------------------------------------------------------------------------- table


def columns(level: str) -> list[str]:
    """Return the names of a level's columns, in the order of the row's fields."""
    return [name for name, _ in _columns("", ROWS[level])]


def _parquet(level: str, names: Sequence[str]) -> RowEncoder:
    kinds = dict(_columns("", ROWS[level]))
    # what is inside of JSON differs from row to row: text
    writer = ParquetWriter([(name, kinds.get(name, {})) for name in names])
    return RowEncoder(b"", lambda rows, data=(): writer.encode(_flat_rows(rows, data)), writer.tail)


def _flat_rows(rows: Sequence[Any], data: Data) -> list[dict[str, Any]]:
    return [{**flat(row), **own} for row, own in _paired(rows, data)]


def _paired(rows: Sequence[Any], data: Data) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    return zip(rows, data or repeat({}, len(rows)), strict=True)


def _columns(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Yield the names of columns with the JSON Schema of their values."""
    shapes = model.model_json_schema(mode="serialization")["properties"]
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        if inner is None:
            yield prefix + name, shapes[name]
        elif name not in _OMITTED:
            yield from _columns(f"{prefix}{name}.", inner)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model of the object, or objects, in a field; None for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (list, types.UnionType, typing.Union):
        return next((model for argument in typing.get_args(annotation) if (model := _model_in(argument))), None)
    return None


def flat(row: BaseModel) -> dict[str, Any]:
    """Return the values of a row by the names of its columns."""
    values: dict[str, Any] = {}
    for name, value in row.model_dump(mode="json", exclude=set(_OMITTED)).items():
        if isinstance(value, dict) and name != "metadata":
            values |= {f"{name}.{inner}": nested for inner, nested in value.items()}
        else:
            values[name] = value
    return values


def group_table(groups: Groups) -> bytes:
    """Encode groups as CSV: the names of their fields, then all of their numbers."""
    names = list(flat(Stats()))
    rows = ([*map(cell, group.labels), *_cells(flat(group.stats), names)] for group in groups.groups)
    return _table([[*groups.by, *names], *rows])


def _cells(values: dict[str, Any], names: Sequence[str]) -> list[Any]:
    return [cell(values.get(name)) for name in names]


def cell(value: Any) -> Any:
    """Convert a value to a cell. A text that a spreadsheet would run as a formula gets an apostrophe before it;
    numbers stay numbers."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return value
        case list():
            return cell("; ".join(map(_item, value)))
        case dict():
            return msgspec.json.encode(value).decode()
        case _:
            text = str(value)
            return f"'{text}" if is_formula(text) else text


def _item(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _table(rows: Any) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue().encode(errors="replace")
