"""Return the keys of the rows that a query accepts: all of them, or a page of them in the order of an amount."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.base.access import Actor
from agents.logs.schemas.sorting import SortOrder, SortPosition
from agents.logs.store.numbers import row_amounts
from agents.logs.store.numbers.chunks import ColumnBounds
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.layouts import Table
from agents.logs.store.numbers.scan import open_scan
from agents.logs.store.numbers.snapshot import Deadline
from agents.query.tree import Query

_LAST = 1 << 62
"""The rank of rows without an amount; more than any other."""


@dataclass(frozen=True, slots=True)
class SortedSearch:
    """What is looked for: the rows behind ``start`` in an order, or with ``back`` those before it; at most ``limit``,
    the nearest."""

    order: SortOrder
    start: SortPosition | None
    back: bool
    limit: int


def sorted_positions(actor: Actor, query: Query, search: SortedSearch, deadline: Deadline) -> list[SortPosition]:
    """Return the positions of the rows that are looked for, in their order."""
    scan = open_scan(actor, query, deadline)
    nearest = _Nearest(search, scan.table)
    key = f"{scan.table}.id"
    for matched in scan.over({key, *nearest.needs}, best_first=nearest):
        rows = matched.rows()
        if rows is not None:
            nearest.add(row_amounts.of(search.order.field, matched, rows), matched.ints(key, rows))
    return nearest.positions()


class _Nearest:
    """The rows nearest behind a position, of those that were added. A row's *rank* is its amount, so turned that the
    order is from the lowest to the highest: negated in a descending order, and again in a search back."""

    def __init__(self, search: SortedSearch, table: Table) -> None:
        self._order, self._back, self._limit = search.order, search.back, search.limit
        self._table = table
        self._ranks, self._keys = np.array([], dtype=np.int64), np.array([], dtype=np.int64)
        self._start: tuple[int, int] | None = None
        start = search.start
        if start is not None:
            amount = np.array([NULL if start.amount is None else start.amount], dtype=np.int64)
            self._start = int(self._ranked(amount)[0]), start.key

    @property
    def needs(self) -> frozenset[str]:
        return row_amounts.needs(self._order.field, self._table)

    def _ranked(self, values: Array) -> Array:
        turned = np.where(values == NULL, _LAST, -values if self._order.descending else values)
        return -turned if self._back else turned

    def lowest(self, bounds: ColumnBounds) -> int:
        """Return a rank that no row of a segment with these bounds is below."""
        limits = row_amounts.range_of(self._order.field, self._table, bounds)
        if self._back and self._may_lack_amount:
            return -_LAST
        if limits is None:
            return _LAST
        least, most = limits
        return -most if self._order.descending != self._back else least

    @property
    def _may_lack_amount(self) -> bool:
        """Whether rows without an amount lie behind the start of a search back."""
        return self._start is None or self._start[0] == -_LAST

    def may_improve(self, lowest: int) -> bool:
        """Whether a row of this rank or above can be nearer than those that there are."""
        return len(self._ranks) < self._limit or lowest <= int(self._ranks[-1])

    def add(self, values: Array, keys: Array) -> None:
        ranks, turned_keys = self._ranked(values), keys if self._back else -keys
        if self._start is not None:
            rank, key = self._start[0], self._start[1] if self._back else -self._start[1]
            follows = (ranks > rank) | ((ranks == rank) & (turned_keys > key))
            ranks, turned_keys = ranks[follows], turned_keys[follows]
        if len(ranks) > self._limit:  # most rows of most segments are far away
            near = ranks <= np.partition(ranks, self._limit - 1)[self._limit - 1]
            ranks, turned_keys = ranks[near], turned_keys[near]
        ranks, turned_keys = np.concatenate([self._ranks, ranks]), np.concatenate([self._keys, turned_keys])
        first = np.lexsort((turned_keys, ranks))[: self._limit]
        self._ranks, self._keys = ranks[first], turned_keys[first]

    def positions(self) -> list[SortPosition]:
        turned = self._ranks if not self._back else -self._ranks
        values = [None if rank == _LAST else -rank if self._order.descending else rank for rank in turned.tolist()]
        keys = (self._keys if self._back else -self._keys).tolist()
        positions = [SortPosition(value, key) for value, key in zip(values, keys, strict=True)]
        return positions[::-1] if self._back else positions


def keys(actor: Actor, query: Query, deadline: Deadline) -> list[int]:
    """Return the keys of all rows, ascending."""
    scan = open_scan(actor, query, deadline)
    column, batches = f"{scan.table}.id", [np.array([], dtype=np.int64)]
    for matched in scan.over({column}):
        rows = matched.rows()
        if rows is not None:
            batches.append(matched.ints(column, rows))
    return [int(key) for key in np.sort(np.concatenate(batches))]
