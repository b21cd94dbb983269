"""The amounts of rows that lists are sorted by and numbers sum up: durations, waits, tokens, costs."""

from __future__ import annotations

import numpy as np

from agents.logs.store.numbers.chunks import ColumnBounds
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.layouts import Table
from agents.logs.store.numbers.scan import MatchedChunk, Rows
from agents.record.catalogue import CATALOGUE

_END, _START = "response.completed_at", "response.created_at"


def needs(field: str, table: Table) -> frozenset[str]:
    """Return the columns that an amount is computed from; none where rows of this table have no such amount."""
    if _is_difference(field, table):
        return frozenset({_END, _START})
    column = CATALOGUE[field].columns.get(table, "")
    return frozenset(f"{table}.{name}" for name in column.split("+") if name)


def of(field: str, matched: MatchedChunk, rows: Rows) -> Array:
    """Return an amount of each row, `NULL` where it has none."""
    if _is_difference(field, matched.table):
        end = matched.ints(_END, rows)
        return np.where(end == NULL, NULL, end - matched.ints(_START, rows))
    values = [matched.ints(name, rows) for name in sorted(needs(field, matched.table))]
    if not values:
        return np.full(matched.size(rows), NULL)
    return values[0] if len(values) == 1 else np.sum(values, axis=0)


def range_of(field: str, table: Table, bounds: ColumnBounds) -> tuple[int, int] | None:
    """Return a least and a most that no amount of rows with these bounds exceeds; None where no row has any."""
    least, most = {}, {}
    for name in needs(field, table):
        low, high = bounds.get(name, (None, None))
        if low is None or high is None:
            return None
        least[name], most[name] = low, high
    if _is_difference(field, table):
        return least[_END] - most[_START], most[_END] - least[_START]
    return sum(least.values()), sum(most.values())


def _is_difference(field: str, table: Table) -> bool:
    """Whether it is no column: responses have no duration, but a beginning and an end."""
    return table == "response" and field == "duration"
