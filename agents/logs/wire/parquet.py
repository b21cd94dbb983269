"""Rows of the logs as Parquet, by pyarrow: a library of 55 MB, so that it is there only for those who want it
(``pip install pyarrow``). A piece of rows is a row group, written and given away as it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import msgspec

from agents.base.errors import InvalidRequest


class Writer:
    """One file: `encode` gives what is new of it, `tail` its end. ``columns`` are names with what JSON
    Schema says of their values. Raises InvalidRequest where pyarrow is not installed."""

    def __init__(self, columns: Sequence[tuple[str, Any]]) -> None:
        try:
            self._arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        except ImportError as error:
            words = "format: this server writes no Parquet; whoever runs it can add it by 'pip install pyarrow'."
            raise InvalidRequest(words, param="format", code="parquet_not_installed") from error
        self._out = _Given()
        self._schema = self._arrow.schema([(name, self._type(name, kind)) for name, kind in columns])
        sink = self._arrow.PythonFile(self._out, mode="w")
        self._writer = parquet.ParquetWriter(sink, self._schema, compression="zstd")

    def encode(self, rows: Sequence[dict[str, Any]]) -> bytes:
        """Rows by the names of their columns."""
        columns = [[_value(row.get(field.name), field.type) for row in rows] for field in self._schema]
        arrays = [self._arrow.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        return self._out.taken()

    def tail(self) -> bytes:
        self._writer.close()
        return self._out.taken()

    def _type(self, name: str, shape: Any) -> Any:
        arrow = self._arrow
        if name.endswith("_at"):
            return arrow.timestamp("us", tz="UTC")
        for each in shape.get("anyOf", [shape]):
            if each.get("type") == "array" and each.get("items", {}).get("type") == "string":
                return arrow.list_(arrow.string())
            if each.get("type") in _PLAIN:
                return getattr(arrow, _PLAIN[each["type"]])()
        return arrow.string()


_PLAIN = {"boolean": "bool_", "number": "float64", "integer": "int64"}


class _Given:
    """A file that is read by what was written since the last time."""

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

    def taken(self) -> bytes:
        found, self._parts = b"".join(self._parts), []
        return found

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
    """A value of JSON as one of its column."""
    name = str(kind)
    if value is None:
        return None
    if name.startswith("timestamp"):
        return datetime.fromisoformat(value).astimezone(UTC)
    if name == "string":
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if name.startswith("list"):
        return [str(each) for each in value]
    return value
