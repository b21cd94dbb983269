"""Reader of Parquet files with pyarrow: a library of 55 MB, and so an optional dependency (``pip install pyarrow``).

Rows come in small batches, as JSON has them: times as numbers since 1970 in the file's unit, missing values left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO

from agents.telemetry.reading.decoding import FormatError

MAGIC = b"PAR1"
NOT_INSTALLED = "it is Parquet, which needs pyarrow: whoever runs this server can add it by 'pip install pyarrow'."
MAX_ROW_GROUP_BYTES = 256 * 2**20
"""Unpacked bytes of a row group, as the file says them; of a batch, as they are."""
MAX_COLUMNS = 5_000
_ROWS = 100

Row = dict[str, Any]


def is_parquet(file: BinaryIO) -> bool:
    """Whether a file, which can be sought in, is Parquet. It stands at its beginning, before and after."""
    prefix = file.read(len(MAGIC))
    file.seek(0)
    return prefix == MAGIC


def column_names(file: BinaryIO) -> frozenset[str]:
    """Read the names of a file's columns. The file stands at its beginning, before and after. Raises `FormatError`."""
    with _opened(file) as (content, _):
        names = frozenset(content.schema_arrow.names)
    file.seek(0)
    return names


def read_batches(file: BinaryIO, only: str | None = None) -> Iterator[list[Row]]:
    """Read the rows of a file in batches, each of one row group; ``only`` is the one column that is wanted. Raises
    `FormatError` from where on it cannot be read."""
    with _opened(file) as (content, arrow):
        _check_size(content.metadata)
        columns = [only] if only in content.schema_arrow.names else None
        for group in range(content.num_row_groups):
            for batch in content.iter_batches(_ROWS, [group], columns, use_threads=False):
                if batch.nbytes > MAX_ROW_GROUP_BYTES:
                    raise FormatError(f"{_ROWS} rows of it are longer than {MAX_ROW_GROUP_BYTES // 2**20} MiB.")
                yield _rows(batch, arrow)


@contextmanager
def _opened(file: BinaryIO) -> Iterator[tuple[Any, Any]]:
    """Open a file; yields it with pyarrow, whose errors become `FormatError`."""
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise FormatError(NOT_INSTALLED) from error
    try:
        yield parquet.ParquetFile(file, pre_buffer=False), arrow
    except (arrow.ArrowException, OSError, ValueError, OverflowError, RecursionError) as error:
        raise FormatError("the Parquet file is broken, or has columns of a type that cannot be read.") from error


def _check_size(metadata: Any) -> None:
    if metadata.num_columns > MAX_COLUMNS:
        raise FormatError(f"it has more than {MAX_COLUMNS:,} columns.")
    sizes = (metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    if max(sizes, default=0) > MAX_ROW_GROUP_BYTES:
        raise FormatError(f"it has a row group of more than {MAX_ROW_GROUP_BYTES // 2**20} MiB: write smaller ones.")


def _rows(batch: Any, arrow: Any) -> list[Row]:
    columns = {
        field.name: column.cast(_without_times(field.type, arrow), safe=False).to_pylist()
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }
    rows = ({name: column[index] for name, column in columns.items()} for index in range(batch.num_rows))
    return [{name: value for name, value in row.items() if not _is_missing(value)} for row in rows]


def _without_times(type_: Any, arrow: Any) -> Any:
    """Return a type with whole numbers in place of times: Python's own have no nanoseconds, and end in the year
    9999."""
    types = arrow.types
    if types.is_timestamp(type_):
        return arrow.int64()
    if types.is_list(type_):
        return arrow.list_(_without_times(type_.value_type, arrow))
    if types.is_struct(type_):
        return arrow.struct([(field.name, _without_times(field.type, arrow)) for field in type_])
    return type_


def _is_missing(value: object) -> bool:
    """Tell whether a cell is empty: pandas writes NaN there in columns of numbers."""
    return value is None or (isinstance(value, float) and math.isnan(value))
