"""Rows of the logs as files: lines of JSON, or a table: CSV (RFC 4180) that a spreadsheet opens safely, or Parquet.

A table is flat: what a row holds in objects has a column for each of its values (``usage.total_tokens``),
lists of texts are joined, and lists of objects (the strip of steps) are left out.
"""

from __future__ import annotations

import csv
import io
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from pydantic import BaseModel

from agents.base.errors import InvalidRequest
from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.logs.wire.formulas import is_formula
from agents.logs.wire.parquet import Writer
from agents.record.schemas.records import TurnRecord

TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""The formats of rows. Those of whole turns are in `TURN_FORMATS`."""
ROWS: dict[str, type[BaseModel]] = {"turn": TurnRow, "session": SessionRow, "step": StepRow, "response": ResponseRow}
BOM = "\ufeff".encode()
_LEFT_OUT = frozenset({"last_turn", "steps"})
"""What is no value and no flat object: a row in a row, a list of objects."""


@dataclass(frozen=True, slots=True)
class TurnFormat:
    """A format of whole turns: what ``encode`` makes of one after the other. ``ending`` is how names of files end."""

    type: str
    ending: str
    encode: Callable[[TurnRecord], bytes]


TURN_FORMATS: dict[str, TurnFormat] = {}
"""By name; subjects that are installed add theirs."""


def media_type(format_: str) -> str:
    """The content type of a format."""
    return TURN_FORMATS[format_].type if format_ in TURN_FORMATS else TYPES[format_]


def ending(format_: str) -> str:
    """How the name of a file of a format ends."""
    return TURN_FORMATS[format_].ending if format_ in TURN_FORMATS else format_


@dataclass(frozen=True, slots=True)
class Encoder:
    """How rows become bytes: ``head`` stands before the first of them, ``tail`` behind the last."""

    head: bytes
    encode: Callable[[Sequence[Any]], bytes]
    tail: Callable[[], bytes] = bytes


def encoder(format_: str, level: str, fields: Sequence[str] | None = None, *, bom: bool = False) -> Encoder:
    """``fields`` are those wanted, in their order; all by default. Raises InvalidRequest for one that rows
    of the level do not have, and for a format of whole turns."""
    if format_ in TURN_FORMATS:
        words = f"format: {format_} is for turns that are exported whole, with all their fields."
        raise InvalidRequest(words, param="format")
    if format_ == "jsonl":
        return _lines(level, fields)
    names = _known(fields, columns(level))
    if format_ == "parquet":
        return _parquet(level, names)
    head = (BOM if bom else b"") + _table([names])
    return Encoder(head, lambda rows: _table(_cells(flat(row), names) for row in rows))


def read_format(text: str) -> str:
    """Raises InvalidRequest."""
    name = text or "jsonl"
    if name not in TYPES and name not in TURN_FORMATS:
        more = f", and {' or '.join(TURN_FORMATS)} for turns" if TURN_FORMATS else ""
        raise InvalidRequest(f"format: jsonl, csv or parquet{more}.", param="format")
    return name


def _known(fields: Sequence[str] | None, names: Sequence[str]) -> Sequence[str]:
    if not fields:
        return names
    unknown = next((name for name in fields if name not in names), None)
    if unknown is not None:
        words = f"fields: there is no '{unknown[:80]}'; there are {', '.join(names)}."
        raise InvalidRequest(words, param="fields")
    return list(dict.fromkeys(fields))


# --------------------------------------------------------------------------------------------- lines


def _lines(level: str, fields: Sequence[str] | None) -> Encoder:
    only = set(_known(fields, list(ROWS[level].model_fields))) if fields else None
    return Encoder(b"", lambda rows: b"".join(line(row, only) for row in rows))


def line(row: BaseModel, only: set[str] | None = None) -> bytes:
    """A row as a line of JSON."""
    return row.__pydantic_serializer__.to_json(row, include=only) + b"\n"


def with_whole(line: bytes, whole: bytes, record: bytes) -> bytes:
    """The same line with the whole of its turn, as encoded JSON: under ``turn`` as the Agents API tells it, under
    ``record`` all that is known of it, which can be read back (`agents.record.schemas.records`)."""
    return b'%b,"turn":%b,"record":%b}\n' % (line[:-2], whole, record)


# --------------------------------------------------------------------------------------------- table


def columns(level: str) -> list[str]:
    """The names of a level's columns, in the order of the row's fields."""
    return [name for name, _ in _columns("", ROWS[level])]


def _parquet(level: str, names: Sequence[str]) -> Encoder:
    kinds = dict(_columns("", ROWS[level]))
    writer = Writer([(name, kinds[name]) for name in names])
    return Encoder(b"", lambda rows: writer.encode([flat(row) for row in rows]), writer.tail)


def _columns(prefix: str, model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Names, and what JSON Schema says of the values that stand there."""
    shapes = model.model_json_schema(mode="serialization")["properties"]
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        if inner is None:
            yield prefix + name, shapes[name]
        elif name not in _LEFT_OUT:
            yield from _columns(f"{prefix}{name}.", inner)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The type of the object, or objects, that a field holds; None for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (list, types.UnionType, typing.Union):
        return next((found for each in typing.get_args(annotation) if (found := _model_in(each))), None)
    return None


def flat(row: BaseModel) -> dict[str, Any]:
    """The values of a row by the names of its columns."""
    found: dict[str, Any] = {}
    for name, value in row.model_dump(mode="json", exclude=set(_LEFT_OUT)).items():
        if isinstance(value, dict) and name != "metadata":
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            found[name] = value
    return found


def _cells(values: dict[str, Any], names: Sequence[str]) -> list[Any]:
    return [cell(values.get(name)) for name in names]


def cell(value: Any) -> Any:
    """A value as a cell. A text that a spreadsheet would run as a formula gets an apostrophe before it;
    numbers stay numbers."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return value
        case list():
            return cell("; ".join(map(str, value)))
        case dict():
            return msgspec.json.encode(value).decode()
        case _:
            text = str(value)
            return f"'{text}" if is_formula(text) else text


def _table(rows: Any) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode(errors="replace")
