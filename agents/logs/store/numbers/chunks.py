"""Turns in chunks of columns: the sealed segments, and the tail of all that is not, or no more, as it
was sealed. Together they hold every turn exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Q

from agents.base.models.changes import Change, ChangeKind
from agents.base.store import changes
from agents.logs.models.segments import Segment, SegmentColumn
from agents.logs.store.numbers.columns import Array, Coded, Column, Plain, Ragged, unpack
from agents.logs.store.numbers.table import Table, read

Zone = dict[str, tuple[int | None, int | None]]
"""The least and the most of columns; None for one without values."""


class Chunk:
    """Some turns with the rows below them. Columns are loaded when they are first named. ``fresh``
    masks the turns that are counted here: the others have changed since, and are in the tail."""

    def __init__(self, columns: dict[str, Column], segment: int | None = None, stale: Array | None = None) -> None:
        self._columns = columns
        self._segment = segment
        self._stale = stale

    def load(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self._columns]
        if not missing:
            return
        assert self._segment is not None, f"the tail was read without {missing}"
        marks = ", ".join(["%s"] * len(missing))
        sql = f"SELECT name, data FROM agents_segmentcolumn WHERE segment_id = %s AND name IN ({marks})"  # noqa: S608 - ``marks`` are placeholders, the names are bound
        with connection.cursor() as cursor:
            cursor.execute(sql, [self._segment, *missing])
            self._columns |= {name: unpack(data) for name, data in cursor.fetchall()}

    def __getitem__(self, name: str) -> Plain | Coded:
        self.load([name])
        column = self._columns[name]
        assert not isinstance(column, Ragged)
        return column

    def ragged(self, name: str) -> Ragged:
        self.load([name])
        column = self._columns[name]
        assert isinstance(column, Ragged)
        return column

    def rows(self, table: Table) -> int:
        column = self[f"{table}.status"]
        return len(column.codes if isinstance(column, Coded) else column.numbers)

    def turns_of(self, table: Table) -> Array:
        """The place of the turn of each row of a table below turns."""
        return self[f"{table}.turn"].ints

    def fresh(self, table: Table) -> Array | None:
        """Which rows are counted here; None for all."""
        if self._stale is None:
            return None
        turns = ~np.isin(self["turn.id"].ints, self._stale)
        return turns if table == "turn" else turns[self.turns_of(table)]


@dataclass(frozen=True, slots=True)
class Head:
    """A live segment, without its columns."""

    pk: int
    low: int
    high: int


def heads() -> tuple[list[Head], int]:
    """The live segments in the order of their turns, and the number of the change feed up to which
    they hold. No segments when changes behind that are forgotten: what has changed cannot be told then."""
    rows = Segment.objects.filter(live=True).order_by("low").values_list("pk", "low", "high", "seq")
    found = list(rows)
    if not found:
        return [], 0
    seq = min(row[3] for row in found)
    if changes.is_pruned(seq):
        return [], 0
    return [Head(*row[:3]) for row in found], seq


def changed(seq: int, upto: int) -> Any:
    """The keys of turns up to ``upto`` that have changed behind a number of the feed."""
    rows = Change.objects.filter(seq__gt=seq, kind=ChangeKind.TURN, key__lte=upto)
    return rows.values_list("key", flat=True).distinct()


@dataclass(frozen=True, slots=True)
class Store:
    """All turns as chunks, at the moment of the snapshot it was opened in."""

    heads: list[Head]
    seq: int
    stale: Array

    @classmethod
    def open(cls) -> Store:
        found, seq = heads()
        stale = sorted(changed(seq, found[-1].high)) if found else []
        return cls(found, seq, np.array(stale, dtype=np.int64))

    def tail(self, names: Iterable[str]) -> Chunk:
        """What is not in the segments, with exactly these columns."""
        high = self.heads[-1].high if self.heads else 0

        def turns(column: str) -> Q:
            behind = Q(**{f"{column}__gt": high})
            if not len(self.stale):
                return behind
            return behind | Q(**{f"{column}__in": changed(self.seq, high)})

        return Chunk(read(turns, names))

    def sealed(self, head: Head) -> Chunk:
        start, end = np.searchsorted(self.stale, [head.low, head.high], side="right")
        return Chunk({}, head.pk, self.stale[start:end] if end > start else None)

    def zones(self, names: Iterable[str]) -> dict[int, Zone]:
        """By segment, what its columns of these names hold at least and at most."""
        rows = SegmentColumn.objects.filter(name__in=sorted(names), segment_id__in=[head.pk for head in self.heads])
        out: dict[int, Zone] = {}
        for segment, name, least, most in rows.values_list("segment_id", "name", "least", "most"):
            out.setdefault(segment, {})[name] = (least, most)
        return out
