"""Count the rows that have each value of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from agents.logs.schemas.numbers import Facet, FacetValue
from agents.logs.store.numbers.columns import NULL, Array, Coded
from agents.logs.store.numbers.dimensions import facet_columns
from agents.logs.store.numbers.labels import names
from agents.logs.store.numbers.layouts import CHILDREN, RAGGED, Table
from agents.logs.store.numbers.listed_terms import keys_of, of_field
from agents.logs.store.numbers.scan import MatchedChunk, Rows
from agents.record.models.choices import Api, StepType

Counts = Counter[int]


class FacetCounter:
    """Counts the values of fields, each without the query's own condition on it. ``limit`` is the most values that
    are returned of a field."""

    def __init__(self, table: Table, by: Sequence[str], limit: int) -> None:
        columns = facet_columns(table, by)
        self._columns = {field: columns[field] for field in by}
        self._limit = limit
        self._counts: dict[str, Counts] = {field: Counter() for field in by}
        self._totals: Counter[str] = Counter()
        self._listed: dict[str, Array | None] = {}
        self.needs = {*self._columns.values(), *([f"{table}.turn"] if table in CHILDREN else [])}

    def add(self, matched: MatchedChunk) -> None:
        for field, column in self._columns.items():
            rows = matched.rows(without=field)
            if rows is not None:
                self._totals[field] += matched.size(rows)
                _add(self._counts[field], matched, column, rows, self._terms(field))

    def _terms(self, field: str) -> Array | None:
        """Return the keys of the interned strings that are counted of a field; None for all."""
        if field not in self._listed:
            self._listed[field] = keys_of(field)
        return self._listed[field]

    def facets(self) -> list[Facet]:
        """Return the facets in the order of the fields."""
        return [_facet(field, counts, self._totals[field], self._limit) for field, counts in self._counts.items()]


def _add(counts: Counts, matched: MatchedChunk, name: str, rows: Rows, listed: Array | None) -> None:
    if name in RAGGED:
        _add_ragged(counts, matched, name, rows, listed)
        return
    column = matched.column(name, rows)
    assert isinstance(column, Coded)
    row_counts = np.bincount(column.codes, minlength=len(column.values))
    if name == "turn.step_types":
        _add_bits(counts, column.values, row_counts)
    else:
        _add_counts(counts, column.values, row_counts)


def _add_counts(counts: Counts, values: Array, row_counts: Array) -> None:
    for value, count in zip(values.tolist(), row_counts.tolist(), strict=True):
        if count:
            counts[value] += count


def _add_bits(counts: Counts, masks: Array, row_counts: Array) -> None:
    for mask, count in zip(masks.tolist(), row_counts.tolist(), strict=True):
        for type_ in StepType:
            if mask > 0 and mask >> type_ & 1:
                counts[type_.value] += count
        if not mask:
            counts[NULL] += count


def _add_ragged(counts: Counts, matched: MatchedChunk, name: str, rows: Rows, listed: Array | None) -> None:
    column = matched.chunk.ragged(name)
    chosen = np.zeros(len(column.counts), dtype=bool)
    chosen[rows] = True
    owners, codes = of_field(column, listed)
    selected = chosen[owners]
    _add_counts(counts, column.values, np.bincount(codes[selected], minlength=len(column.values)))
    chosen[owners] = False
    counts[NULL] += int(np.count_nonzero(chosen))


def _facet(field: str, counts: Counts, total: int, limit: int) -> Facet:
    absent = counts.pop(NULL, 0)
    if field == "api":
        absent += counts.pop(Api.NONE.value, 0)
    labels = names(field, _largest(counts, limit))
    values = [FacetValue(value=value, label=label, count=counts[key]) for key, (value, label) in labels.items()]
    values.sort(key=lambda value: (-value.count, value.label, value.value))
    return Facet(field=field, total=total, values=values[:limit], absent=absent, more=max(len(+counts) - limit, 0))


def _largest(counts: Counts, limit: int) -> list[int]:
    """Return the numbers with the largest counts, including ties with the last one, up to a limit."""
    ranked = counts.most_common()
    if len(ranked) <= limit:
        return [number for number, _ in ranked]
    smallest = ranked[limit - 1][1]
    return [number for number, count in ranked[: limit * 4] if count >= smallest]
