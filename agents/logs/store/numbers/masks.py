"""Masks: which rows of a table a condition holds for, worked out over columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from agents.logs.store.numbers.chunks import Chunk, Zone
from agents.logs.store.numbers.columns import Array, Coded
from agents.logs.store.numbers.table import Table

Check = Callable[[Array], Array]
"""Which of some numbers are as they should be."""


class Mask(Protocol):
    """Which rows of a table a condition holds for."""

    @property
    def needs(self) -> frozenset[str]:
        """The columns it looks at."""

    def of(self, chunk: Chunk) -> Array:
        """True for the rows of the chunk it holds for."""

    def may(self, zone: Zone) -> bool:
        """False where it certainly holds for no row of a segment."""


@dataclass(frozen=True, slots=True)
class Both:
    """All of these hold; without any, it holds for each row of the table."""

    table: Table
    parts: Sequence[Mask]

    @property
    def needs(self) -> frozenset[str]:
        own = frozenset() if self.parts else frozenset({f"{self.table}.status"})
        return own.union(*(part.needs for part in self.parts))

    def of(self, chunk: Chunk) -> Array:
        if not self.parts:
            return np.ones(chunk.rows(self.table), dtype=bool)
        found = self.parts[0].of(chunk)
        for part in self.parts[1:]:
            if not found.any():
                break
            found = found & part.of(chunk)
        return found

    def may(self, zone: Zone) -> bool:
        return all(part.may(zone) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Either:
    parts: Sequence[Mask]

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(part.needs for part in self.parts))

    def of(self, chunk: Chunk) -> Array:
        return reduce(np.logical_or, (part.of(chunk) for part in self.parts))

    def may(self, zone: Zone) -> bool:
        return any(part.may(zone) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Other:
    """The opposite."""

    part: Mask

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs

    def of(self, chunk: Chunk) -> Array:
        return ~self.part.of(chunk)

    def may(self, zone: Zone) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Some:
    """Turns of which some row of a table below them is so."""

    table: Table
    part: Mask

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs | {"turn.status", f"{self.table}.turn"}

    def of(self, chunk: Chunk) -> Array:
        found = np.zeros(chunk.rows("turn"), dtype=bool)
        found[chunk.turns_of(self.table)[self.part.of(chunk)]] = True
        return found

    def may(self, zone: Zone) -> bool:
        return self.part.may(zone)


@dataclass(frozen=True, slots=True)
class Inherited:
    """Rows of a table below turns whose turn is so."""

    table: Table
    part: Mask

    @property
    def needs(self) -> frozenset[str]:
        return self.part.needs | {f"{self.table}.turn"}

    def of(self, chunk: Chunk) -> Array:
        found: Array = self.part.of(chunk)[chunk.turns_of(self.table)]
        return found

    def may(self, zone: Zone) -> bool:
        return self.part.may(zone)


@dataclass(frozen=True, slots=True)
class Keyed:
    """The rows with these keys, ascending."""

    table: Table
    keys: Array

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({f"{self.table}.id"})

    def of(self, chunk: Chunk) -> Array:
        own = chunk[f"{self.table}.id"].ints
        if not len(self.keys):
            return np.zeros(len(own), dtype=bool)
        places = np.searchsorted(self.keys, own)
        places[places == len(self.keys)] = 0
        return np.asarray(self.keys[places] == own)

    def may(self, zone: Zone) -> bool:
        least, most = zone.get(f"{self.table}.id", (None, None))
        if least is None or most is None:
            return False
        return bool(np.searchsorted(self.keys, least) < np.searchsorted(self.keys, most, side="right"))


@dataclass(frozen=True, slots=True)
class Compared:
    """Rows whose number in a column passes. ``low`` and ``high`` are what can pass at all."""

    column: str
    check: Check
    low: float = -math.inf
    high: float = math.inf

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.column})

    def of(self, chunk: Chunk) -> Array:
        column = chunk[self.column]
        return self.check(column.values)[column.codes] if isinstance(column, Coded) else self.check(column.numbers)

    def may(self, zone: Zone) -> bool:
        if self.column not in zone or (self.low, self.high) == (-math.inf, math.inf):
            return True
        least, most = zone[self.column]
        return least is not None and most is not None and least <= self.high and most >= self.low


@dataclass(frozen=True, slots=True)
class Summed:
    """Rows in which columns that always have a value pass, added up."""

    columns: tuple[str, ...]
    check: Check

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(self.columns)

    def of(self, chunk: Chunk) -> Array:
        return self.check(reduce(np.add, (chunk[name].ints for name in self.columns)))

    def may(self, zone: Zone) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Holding:
    """Turns that hold one of these values in a column of several."""

    column: str
    values: Array

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.column})

    def of(self, chunk: Chunk) -> Array:
        held = chunk.ragged(self.column)
        found = np.zeros(len(held.counts), dtype=bool)
        found[held.rows[np.isin(held.values, self.values)[held.codes]]] = True
        return found

    def may(self, zone: Zone) -> bool:
        return True
