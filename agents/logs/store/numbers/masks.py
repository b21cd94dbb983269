"""Evaluate conditions over columns: a mask marks the rows of a table that fulfil one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from agents.logs.store.numbers.chunks import ColumnBounds, ColumnChunk
from agents.logs.store.numbers.columns import Array, Coded
from agents.logs.store.numbers.layouts import Table

Check = Callable[[Array], Array]
"""Returns which of some numbers pass."""


class Mask(Protocol):
    """The rows of a table that fulfil a condition."""

    @property
    def needs(self) -> frozenset[str]:
        """The columns it reads."""

    def of(self, chunk: ColumnChunk) -> Array:
        """Return an array that is True for the rows of the chunk that fulfil the condition."""

    def may(self, bounds: ColumnBounds) -> bool:
        """Whether some row of a segment may fulfil it; False where certainly none does."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the parts; without any, every row of the table."""

    table: Table
    parts: Sequence[Mask]

    @property
    def needs(self) -> frozenset[str]:
        own = frozenset() if self.parts else frozenset({f"{self.table}.status"})
        return own.union(*(part.needs for part in self.parts))

    def of(self, chunk: ColumnChunk) -> Array:
        if not self.parts:
            return np.ones(chunk.rows(self.table), dtype=bool)
        mask = self.parts[0].of(chunk)
        for part in self.parts[1:]:
            if not mask.any():
                break
            mask = mask & part.of(chunk)
        return mask

    def may(self, bounds: ColumnBounds) -> bool:
        return all(part.may(bounds) for part in self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: Sequence[Mask]

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(part.needs for part in self.parts))

    def of(self, chunk: ColumnChunk) -> Array:
        return reduce(np.logical_or, (part.of(chunk) for part in self.parts))

    def may(self, bounds: ColumnBounds) -> bool:
        return any(part.may(bounds) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Complement:
    """The rows that the part does not accept."""

    part: Mask

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs

    def of(self, chunk: ColumnChunk) -> Array:
        return ~self.part.of(chunk)

    def may(self, bounds: ColumnBounds) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class TurnsWith:
    """Turns with a row in a table below them that the part accepts."""

    table: Table
    part: Mask

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs | {"turn.status", f"{self.table}.turn"}

    def of(self, chunk: ColumnChunk) -> Array:
        mask = np.zeros(chunk.rows("turn"), dtype=bool)
        mask[chunk.turns_of(self.table)[self.part.of(chunk)]] = True
        return mask

    def may(self, bounds: ColumnBounds) -> bool:
        return self.part.may(bounds)


@dataclass(frozen=True, slots=True)
class FromTurn:
    """Rows of a table below turns whose turn the part accepts."""

    table: Table
    part: Mask

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs | {f"{self.table}.turn"}

    def of(self, chunk: ColumnChunk) -> Array:
        mask: Array = self.part.of(chunk)[chunk.turns_of(self.table)]
        return mask

    def may(self, bounds: ColumnBounds) -> bool:
        return self.part.may(bounds)


@dataclass(frozen=True, slots=True)
class ByKeys:
    """The rows with these keys, ascending."""

    table: Table
    keys: Array

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({f"{self.table}.id"})

    def of(self, chunk: ColumnChunk) -> Array:
        own = chunk[f"{self.table}.id"].ints
        if not len(self.keys):
            return np.zeros(len(own), dtype=bool)
        indices = np.searchsorted(self.keys, own)
        indices[indices == len(self.keys)] = 0
        return np.asarray(self.keys[indices] == own)

    def may(self, bounds: ColumnBounds) -> bool:
        minimum, maximum = bounds.get(f"{self.table}.id", (None, None))
        if minimum is None or maximum is None:
            return False
        return bool(np.searchsorted(self.keys, minimum) < np.searchsorted(self.keys, maximum, side="right"))


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """Rows whose number in a column passes. Numbers below ``low`` and above ``high`` never pass."""

    column: str
    check: Check
    low: float = -math.inf
    high: float = math.inf

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.column})

    def of(self, chunk: ColumnChunk) -> Array:
        column = chunk[self.column]
        return self.check(column.values)[column.codes] if isinstance(column, Coded) else self.check(column.numbers)

    def may(self, bounds: ColumnBounds) -> bool:
        if self.column not in bounds or (self.low, self.high) == (-math.inf, math.inf):
            return True
        minimum, maximum = bounds[self.column]
        return minimum is not None and maximum is not None and minimum <= self.high and maximum >= self.low


@dataclass(frozen=True, slots=True)
class SumCheck:
    """Rows whose sum over columns passes; the columns always have a value."""

    columns: tuple[str, ...]
    check: Check

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(self.columns)

    def of(self, chunk: ColumnChunk) -> Array:
        return self.check(reduce(np.add, (chunk[name].ints for name in self.columns)))

    def may(self, bounds: ColumnBounds) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class MultivaluedCheck:
    """Turns with one of these values in a column of several values."""

    column: str
    values: Array

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.column})

    def of(self, chunk: ColumnChunk) -> Array:
        column = chunk.ragged(self.column)
        mask = np.zeros(len(column.counts), dtype=bool)
        mask[column.rows[np.isin(column.values, self.values)[column.codes]]] = True
        return mask

    def may(self, bounds: ColumnBounds) -> bool:
        return True
