"""Read all turns as chunks of columns: the sealed segments, and the tail of turns that are not sealed or
have changed since. Together they contain every turn exactly once.
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
from agents.logs.store.numbers.derived import DERIVED, with_sources
from agents.logs.store.numbers.layouts import Table
from agents.logs.store.numbers.table import read
from agents.logs.store.segments import incomplete

ColumnBounds = dict[str, tuple[int | None, int | None]]
"""The minimum and maximum of columns; None for a column without values."""


class ColumnChunk:
    """The columns of some turns and the rows below them, loaded when first used. ``fresh`` masks the rows that
    count: the others have changed since they were sealed, and are in the tail."""

    def __init__(self, columns: dict[str, Column], segment: int | None = None, stale: Array | None = None) -> None:
        self._columns = columns
        self._segment = segment
        self._stale = stale

    def load(self, names: Iterable[str]) -> None:
        requested = set(names)
        self._load_stored(with_sources(requested - self._columns.keys()))
        for name in DERIVED.keys() & requested - self._columns.keys():
            self._columns[name] = DERIVED[name].derive(self._columns)

    def _load_stored(self, names: Iterable[str]) -> None:
        missing = [name for name in names if name not in self._columns]
        if not missing:
            return
        assert self._segment is not None, f"the tail was read without {missing}"
        placeholders = ", ".join(["%s"] * len(missing))
        sql = f"SELECT name, data FROM agents_segmentcolumn WHERE segment_id = %s AND name IN ({placeholders})"  # noqa: S608 - ``marks`` are placeholders, the names are bound
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
        """Return for each row of a table below turns the index of its turn."""
        return self[f"{table}.turn"].ints

    def fresh(self, table: Table) -> Array | None:
        """Return the mask of rows that count in this chunk; None for all."""
        if self._stale is None:
            return None
        turns = ~np.isin(self["turn.id"].ints, self._stale)
        return turns if table == "turn" else turns[self.turns_of(table)]


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A live segment, without its columns."""

    pk: int
    low: int
    high: int


def live_segments() -> tuple[list[LiveSegment], int]:
    """Return the live segments in the order of their turns, and the number in the change feed up to which they
    are valid. No segments when later changes have been dropped from the feed: the stale turns are unknown then; nor
    when one lacks a column."""
    rows = list(Segment.objects.filter(live=True).order_by("low").values_list("pk", "low", "high", "seq"))
    if not rows:
        return [], 0
    seq = min(row[3] for row in rows)
    if changes.is_pruned(seq) or incomplete([row[0] for row in rows]):
        return [], 0
    return [LiveSegment(*row[:3]) for row in rows], seq


def changed(seq: int, upto: int) -> Any:
    """Return the keys of turns up to ``upto`` that have changed after a number in the feed."""
    rows = Change.objects.filter(seq__gt=seq, kind=ChangeKind.TURN, key__lte=upto)
    return rows.values_list("key", flat=True).distinct()


@dataclass(frozen=True, slots=True)
class TurnChunks:
    """All turns as chunks, as of the snapshot it was opened in."""

    segments: list[LiveSegment]
    seq: int
    stale: Array

    @classmethod
    def open(cls) -> TurnChunks:
        segments, seq = live_segments()
        stale = sorted(changed(seq, segments[-1].high)) if segments else []
        return cls(segments, seq, np.array(stale, dtype=np.int64))

    def tail(self, names: Iterable[str]) -> ColumnChunk:
        """Read the turns that are not in the segments, with exactly these columns."""
        high = self.segments[-1].high if self.segments else 0

        def turns(column: str) -> Q:
            unsealed = Q(**{f"{column}__gt": high})
            if not len(self.stale):
                return unsealed
            return unsealed | Q(**{f"{column}__in": changed(self.seq, high)})

        return ColumnChunk(read(turns, with_sources(names)))

    def sealed(self, segment: LiveSegment) -> ColumnChunk:
        start, end = np.searchsorted(self.stale, [segment.low, segment.high], side="right")
        return ColumnChunk({}, segment.pk, self.stale[start:end] if end > start else None)

    def bounds(self, names: Iterable[str]) -> dict[int, ColumnBounds]:
        """Return by segment the minimum and maximum of these columns."""
        rows = SegmentColumn.objects.filter(name__in=sorted(names), segment_id__in=[live.pk for live in self.segments])
        by_segment: dict[int, ColumnBounds] = {}
        for segment, name, minimum, maximum in rows.values_list("segment_id", "name", "least", "most"):
            by_segment.setdefault(segment, {})[name] = (minimum, maximum)
        return by_segment
