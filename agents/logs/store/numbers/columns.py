"""Hold columns of whole numbers in memory, and pack them as small as their values allow.

=========  ====================================================================================
`Plain`    one number per row, `NULL` where there is none: times, tokens, costs
`Coded`    few different numbers, each row pointing at one: statuses, agents, models
`Ragged`   any number of them per row: the tools and tags of a turn
=========  ====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np

NULL = -(1 << 62)
"""Means no value; less than all values of columns."""

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True, slots=True)
class Plain:
    numbers: Array

    @property
    def ints(self) -> Array:
        """The value of each row; `NULL` where it has none."""
        return self.numbers


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of few different values: ``values`` ascending, `NULL` among them where a row has none; ``codes`` are
    the rows' indices in it."""

    values: Array
    codes: Array

    @property
    def ints(self) -> Array:
        numbers: Array = self.values[self.codes]
        return numbers

    def take(self, rows: Array) -> Coded:
        """Return the column for rows that each refer to one of these rows."""
        return Coded(self.values, self.codes[rows])


@dataclass(frozen=True, slots=True)
class Ragged:
    """A column of any number of values a row: ``counts`` by row, and the ``codes`` of all rows in sequence."""

    values: Array
    codes: Array
    counts: Array

    @property
    def rows(self) -> Array:
        """For each code the row it belongs to."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


Column: TypeAlias = Plain | Coded | Ragged


def plain(numbers: Array) -> Plain:
    return Plain(numbers.astype(np.int64, copy=False))


def coded(numbers: Array) -> Coded:
    values, codes = np.unique(numbers, return_inverse=True)
    return Coded(values.astype(np.int64, copy=False), _narrowest(codes.reshape(-1)))


def ragged(rows: int, pairs: Iterable[tuple[int, int]] | Array) -> Ragged:
    """Build the column from (row, value) pairs, in any order."""
    table = np.asarray(pairs if isinstance(pairs, np.ndarray) else list(pairs), dtype=np.int64).reshape(-1, 2)
    table = np.unique(table, axis=0)
    counts = np.bincount(table[:, 0], minlength=rows)
    column = coded(table[:, 1])
    return Ragged(column.values, column.codes, _narrowest(counts))


def _narrowest(numbers: Array) -> Array:
    """Return non-negative numbers in the narrowest type that holds them."""
    maximum = int(numbers.max()) if len(numbers) else 0
    for dtype in (np.uint8, np.uint16, np.uint32):
        if maximum <= np.iinfo(dtype).max:
            return numbers.astype(dtype)
    return numbers.astype(np.uint64)


# ------------------------------------------------------------------------------------------- packing


class _Packed(msgspec.Struct, array_like=True, frozen=True):
    """``head`` are 8-byte numbers: the values of a `Coded` or `Ragged`, or the one that a `Plain`
    counts from, where 0 is no value and 1 that one. The rest as (dtype, bytes)."""

    kind: str
    head: bytes
    dtype: str
    data: bytes
    counts_dtype: str = ""
    counts: bytes = b""


def pack(column: Column) -> bytes:
    return msgspec.msgpack.encode(_to_packed(column))


def _to_packed(column: Column) -> _Packed:
    match column:
        case Plain():
            base, shifted = _shifted(column.numbers)
            return _Packed("plain", _bytes(np.array([base], dtype="<i8")), shifted.dtype.str, _bytes(shifted))
        case Coded():
            return _Packed("coded", _bytes(column.values), column.codes.dtype.str, _bytes(column.codes))
        case Ragged():
            counts = column.counts
            codes = column.codes
            return _Packed(
                "ragged", _bytes(column.values), codes.dtype.str, _bytes(codes), counts.dtype.str, _bytes(counts)
            )


def _shifted(numbers: Array) -> tuple[int, Array]:
    present = numbers[numbers != NULL]
    base = int(present.min()) if len(present) else 0
    return base, _narrowest(np.where(numbers == NULL, 0, numbers - base + 1))


def _bytes(numbers: Array) -> bytes:
    return np.ascontiguousarray(numbers).tobytes()


_DECODER = msgspec.msgpack.Decoder(_Packed)


def unpack(data: bytes | memoryview) -> Column:
    packed = _DECODER.decode(data)
    head = np.frombuffer(packed.head, dtype="<i8")
    rows = np.frombuffer(packed.data, dtype=packed.dtype)
    match packed.kind:
        case "plain":
            numbers = rows.astype(np.int64)
            numbers += int(head[0]) - 1
            numbers[rows == 0] = NULL
            return Plain(numbers)
        case "coded":
            return Coded(head, rows)
        case _:
            return Ragged(head, rows, np.frombuffer(packed.counts, dtype=packed.counts_dtype))


def bounds(column: Column) -> tuple[int | None, int | None]:
    """Return the minimum and the maximum of a column; None when it has no values."""
    numbers = column.numbers if isinstance(column, Plain) else column.values
    present = numbers[numbers != NULL]
    return (int(present.min()), int(present.max())) if len(present) else (None, None)
