"""Rows of a table as lines of JSON, the same from both databases, and the hash of a table's content.

Bytes are base64, timestamps ISO 8601 in UTC with microseconds, booleans true and false, numbers and texts as they are.
A value of a JSON column is the text that the database gave. PostgreSQL orders the keys of objects in its own way, so
the hash takes such values with sorted keys: it is the same before and after a change of the engine.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from agents.server.backup.tables import BackupTable, ColumnKind

Row = Sequence[Any]
MAX_BATCH_ROWS = 1_000
_lines = msgspec.json.Encoder().encode_lines
_decode_lines = msgspec.json.Decoder(list[Any]).decode_lines
_sorted = msgspec.json.Encoder(order="deterministic").encode


def encode(rows: list[Row]) -> bytes:
    """Encode rows of plain values (`FROM_SQLITE`, `FROM_POSTGRESQL`)."""
    return _lines(rows)


def decode(table: BackupTable, lines: bytes) -> list[list[Any]]:
    """Decode lines into rows of plain values. Raises ValueError where they are no rows of this table."""
    rows = _decode_lines(lines)
    width = len(table.columns)
    if any(len(row) != width for row in rows):
        raise ValueError(f"{table.name}: a row has too few or too many values")
    for position in _positions(table, "bytes"):
        for row in rows:
            row[position] = None if row[position] is None else b64decode(row[position], validate=True)
    return rows


def convert(table: BackupTable, rows: Iterable[Row], by_kind: dict[ColumnKind, Callable[[Any], Any]]) -> list[Row]:
    """Convert the values of rows by the kinds of their columns; null stays null."""
    converters = [(at, by_kind[column.kind]) for at, column in enumerate(table.columns) if column.kind in by_kind]
    if not converters:
        return list(rows)
    converted: list[Row] = []
    for row in rows:
        values = list(row)
        for position, converter in converters:
            if values[position] is not None:
                values[position] = converter(values[position])
        converted.append(values)
    return converted


class ContentHash:
    """Counts the rows of a table and hashes their content."""

    def __init__(self, table: BackupTable) -> None:
        self.rows = 0
        self._hash = hashlib.sha256()
        self._json = _positions(table, "json")

    def add(self, rows: Sequence[Row], lines: bytes) -> None:
        """Add rows, with the lines they are encoded as."""
        self.rows += len(rows)
        self._hash.update(_lines([self._with_sorted_keys(row) for row in rows]) if self._json else lines)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def _with_sorted_keys(self, row: Row) -> list[Any]:
        values = list(row)
        for position in self._json:
            if values[position] not in (None, "{}", "[]", '""', "null"):
                values[position] = _sorted(_plain_numbers(msgspec.json.decode(values[position]))).decode()
        return values


def _plain_numbers(value: Any) -> Any:
    """Write whole floats as integers: PostgreSQL writes 1e2 as 100."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [_plain_numbers(inner) for inner in value]
    return {key: _plain_numbers(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _positions(table: BackupTable, kind: ColumnKind) -> list[int]:
    return [position for position, column in enumerate(table.columns) if column.kind == kind]


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Group rows into batches of at most `MAX_BATCH_ROWS`."""
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == MAX_BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _utc(value: str | datetime) -> str:
    """Write a timestamp of either database: SQLite has texts without a zone, which are in UTC."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")


def _sqlite_time(value: str) -> str:
    """Write a timestamp as Django does on SQLite."""
    return str(datetime.fromisoformat(value).replace(tzinfo=None))


FROM_SQLITE: dict[ColumnKind, Callable[[Any], Any]] = {"boolean": bool, "timestamp": _utc, "real": float}
FROM_POSTGRESQL: dict[ColumnKind, Callable[[str], Any]] = {
    "boolean": "t".__eq__,
    "integer": int,
    "real": float,
    "bytes": lambda value: bytes.fromhex(value[2:]),  # behind \x
    "timestamp": _utc,
}
TO_SQLITE: dict[ColumnKind, Callable[[Any], Any]] = {"timestamp": _sqlite_time}
