"""Group rows by one or two fields or lengths of time. A turn with several tags, tools or values of its metadata is in
the group of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from math import isnan

import numpy as np

from agents.base.schemas.wire import iso
from agents.logs.schemas.numbers import Group, Stats
from agents.logs.store.numbers.columns import NULL, Array, Coded, coded
from agents.logs.store.numbers.dimensions import PERIODS, STARTED, group_columns, periods
from agents.logs.store.numbers.labels import names
from agents.logs.store.numbers.layouts import CHILDREN, RAGGED, Table
from agents.logs.store.numbers.listed_terms import keys_of, of_field
from agents.logs.store.numbers.scan import MatchedChunk, Rows


class Grouping:
    """Assigns numbers from 0 to groups in the order they are met, by their values in these dimensions."""

    def __init__(self, table: Table, by: Sequence[str], zone: tzinfo | None) -> None:
        self._table = table
        self._zone = zone or UTC
        self._by = by
        self._columns = group_columns(table, by)
        self._listed: dict[str, Array | None] = {}
        self.numbers: dict[tuple[int, ...], int] = {}
        self.needs = {STARTED[table] if name in PERIODS else self._columns[name] for name in by}
        if table in CHILDREN:
            self.needs.add(f"{table}.turn")

    def assign(self, matched: MatchedChunk, rows: Rows) -> tuple[Rows, Array, Array]:
        """Return (the rows, each once for each of its groups; for each of these the index of its group in the last
        array; the numbers of the groups)."""
        indices, group_keys = np.zeros(matched.size(rows), dtype=np.uint16), [()]
        for name in self._by:
            if self._columns.get(name) in RAGGED:
                column, positions = self._spread(name, matched, rows)
                rows, indices = _indices(matched, rows)[positions], indices[positions]
            else:
                column = self._column(name, matched, rows)
            joint = coded(indices.astype(np.int64) * len(column.values) + column.codes)
            pairs = (divmod(value, len(column.values)) for value in joint.values.tolist())
            values = column.values.tolist()
            group_keys = [(*group_keys[before], values[own]) for before, own in pairs]
            indices = joint.codes
        return rows, indices, np.array([self.numbers.setdefault(key, len(self.numbers)) for key in group_keys])

    def _column(self, name: str, matched: MatchedChunk, rows: Rows) -> Coded:
        if name in PERIODS:
            return periods(matched.ints(STARTED[self._table], rows), PERIODS[name], self._zone)
        column = matched.column(self._columns[name], rows)
        return column if isinstance(column, Coded) else coded(matched.ints(self._columns[name], rows))

    def _spread(self, name: str, matched: MatchedChunk, rows: Rows) -> tuple[Coded, Array]:
        """Return the values of a field that rows have any number of, and for each the position of its row among
        ``rows``. A row without one has `NULL`."""
        if name not in self._listed:
            self._listed[name] = keys_of(name)
        column = matched.chunk.ragged(self._columns[name])
        owners, codes = of_field(column, self._listed[name])
        counts = np.bincount(owners, minlength=len(column.counts))
        starts = np.cumsum(counts) - counts
        own = _indices(matched, rows)
        repeats = np.maximum(counts[own], 1)
        positions = np.repeat(np.arange(len(own)), repeats)
        offsets = np.arange(len(positions)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        has_value = (counts[own] > 0)[positions]
        values = np.full(len(positions), NULL, dtype=np.int64)
        values[has_value] = column.values[codes[(starts[own][positions] + offsets)[has_value]]]
        return coded(values), positions

    @property
    def overlaps(self) -> bool:
        """Whether a row may be in several groups."""
        return any(self._columns.get(name) in RAGGED for name in self._by)

    def select(self, amounts: Array, limit: int) -> list[int]:
        """Return the numbers of the groups to report: those of the newest times, else with the largest amounts."""
        keys, sizes = list(self.numbers), (-amounts).tolist()
        times = [index for index, name in enumerate(self._by) if name in PERIODS]
        rank = {key: (*(-key[index] for index in times), sizes[number]) for key, number in self.numbers.items()}
        chosen = sorted(keys, key=lambda key: (rank[key], key))[:limit]
        if times:
            chosen.sort(key=lambda key: ([key[index] for index in times], rank[key], key))
        return [self.numbers[key] for key in chosen]


def _indices(matched: MatchedChunk, rows: Rows) -> Array:
    return np.arange(matched.size(rows)) if isinstance(rows, slice) else rows


def labelled_groups(
    by: Sequence[str], grouping: Grouping, selected: Sequence[int], stats: Sequence[Stats]
) -> list[Group]:
    keys = list(grouping.numbers)
    chosen = [keys[number] for number in selected]
    columns = [_names_of(name, [key[index] for key in chosen]) for index, name in enumerate(by)]
    time = next((index for index, name in enumerate(by) if name in PERIODS), None)
    return [
        Group(
            values=[column[row][0] for column in columns],
            labels=[column[row][1] for column in columns],
            from_us=None if time is None else key[time],
            stats=stats[row],
        )
        for row, key in enumerate(chosen)
    ]


@dataclass(frozen=True, slots=True)
class GroupAmount:
    """An amount of a group, None where it has none: of the value of its field, None where the rows have none, and its
    label; and of the time that begins at ``from_us``. Without such a field the value is None, without a time
    ``from_us`` is 0."""

    value: str | None
    label: str
    from_us: int
    amount: float | None


def labelled_amounts(by: Sequence[str], grouping: Grouping, amounts: Sequence[float]) -> list[GroupAmount]:
    """Return the amounts, NaN for none, of groups by their numbers."""
    time = next((index for index, name in enumerate(by) if name in PERIODS), None)
    field = next((index for index, name in enumerate(by) if name not in PERIODS), None)
    keys = list(grouping.numbers)
    labels = [(None, "")] * len(keys) if field is None else _names_of(by[field], [key[field] for key in keys])
    return [
        GroupAmount(value, label, 0 if time is None else key[time], None if isnan(amount) else amount)
        for key, (value, label), amount in zip(keys, labels, amounts, strict=True)
    ]


def _names_of(name: str, numbers: list[int]) -> list[tuple[str | None, str]]:
    if name in PERIODS:
        return [(iso(number), iso(number)) for number in numbers]
    labels = names(name, {number for number in numbers if number != NULL})
    return [(None, "") if number == NULL else labels[number] for number in numbers]
