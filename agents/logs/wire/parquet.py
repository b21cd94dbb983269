"""Encode rows of the logs as Parquet with pyarrow: a library of 55 MB, and so an optional dependency
(``pip install pyarrow``). Rows are written in row groups, which are returned at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import msgspec

from agents.base.errors import InvalidRequest

GROUP_ROWS = 500
GROUP_CHARS = 4 * 2**20
"""Characters of the texts of a row group, from which on its rows are written."""


class ParquetWriter:
    """Writes one file: `encode` returns its new bytes, `tail` its end. ``columns`` are names with the JSON
    Schema of their values. Raises InvalidRequest where pyarrow is not installed."""

    def __init__(self, columns: Sequence[tuple[str, Any]]) -> None:
        try:
            self._arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        except ImportError as error:
            message = "format: this server writes no Parquet; whoever runs it can add it by 'pip install pyarrow'."
            raise InvalidRequest(message, param="format", code="parquet_not_installed") from error
        self._out = _OutputBuffer()
        self._rows: list[list[Any]] = []
        self._chars = 0
        self._schema = self._arrow.schema([(name, self._type(name, kind)) for name, kind in columns])
        sink = self._arrow.PythonFile(self._out, mode="w")
        self._writer = parquet.ParquetWriter(sink, self._schema, compression="zstd")

    def encode(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """Encode rows that are dictionaries by column name; they are kept until there is a row group of them."""
        for row in rows:
            values = [_value(row.get(field.name), field.type) for field in self._schema]
            self._rows.append(values)
            self._chars += sum(len(value) for value in values if isinstance(value, str))
            if len(self._rows) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
                self._write_group()
        return self._out.take()

    def _write_group(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [self._arrow.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._chars = [], 0

    def tail(self) -> bytes:
        if self._rows:
            self._write_group()
        self._writer.close()
        return self._out.take()

    def _type(self, name: str, shape: Any) -> Any:
        arrow = self._arrow
        if name.endswith("_at"):
            return arrow.timestamp("us", tz="UTC")
        for option in shape.get("anyOf", [shape]):
            if option.get("type") == "array" and option.get("items", {}).get("type") == "string":
                return arrow.list_(arrow.string())
            if option.get("type") in _PLAIN:
                return getattr(arrow, _PLAIN[option["type"]])()
        return arrow.string()


_PLAIN = {"boolean": "bool_", "number": "float64", "integer": "int64"}


class _OutputBuffer:
    """A file for pyarrow to write to; `take` returns the bytes written since the last call."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def take(self) -> bytes:
        content, self._parts = b"".join(self._parts), []
        return content

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _value(value: Any, kind: Any) -> Any:
    """Convert a JSON value to the type of its column."""
    name = str(kind)
    if value is None:
        return None
    if name.startswith("timestamp"):
        return datetime.fromisoformat(value).astimezone(UTC)
    if name == "string":
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if name.startswith("list"):
        return [str(item) for item in value]
    return value
