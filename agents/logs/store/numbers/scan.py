"""Scan all chunks for the rows that match a query, some of its conditions left out on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast

import numpy as np

from agents.base.access import Actor
from agents.logs.store.numbers.chunks import ColumnBounds, ColumnChunk, TurnChunks
from agents.logs.store.numbers.columns import Array, Coded, Column, Ragged
from agents.logs.store.numbers.layouts import Table
from agents.logs.store.numbers.masks import AllOf, Mask
from agents.logs.store.numbers.plan import MaskPlan
from agents.logs.store.numbers.snapshot import Deadline
from agents.query import tree
from agents.query.tree import Query

Rows: TypeAlias = "slice | Array"
"""All rows, or the indices of some."""
ALL = slice(None)


def open_scan(actor: Actor, query: Query, deadline: Deadline) -> Scan:
    """Open the scan of rows of the query's level."""
    from agents.logs.store.numbers.sessions import SessionScan

    return (SessionScan if query.level == "session" else Scan)(actor, query, deadline)


class SegmentRanks(Protocol):
    """Says in which order segments are worth a look, and when no other is."""

    @property
    def needs(self) -> Set[str]:
        """The columns whose bounds it reads."""

    def lowest(self, bounds: ColumnBounds) -> int:
        """Return the rank of a segment with these bounds: the lowest comes first."""

    def may_improve(self, lowest: int) -> bool:
        """Whether a segment of this rank is still worth a look."""


class Scan:
    """One pass over the turns, or what is below them, that an actor may see and a query accepts."""

    def __init__(self, actor: Actor, query: Query, deadline: Deadline) -> None:
        self.table = cast(Table, query.level)
        self._deadline = deadline
        self._store = TurnChunks.open()
        plan = MaskPlan(actor, query, self.table)
        self._visible, self._conditions = plan.seen, plan.conditions

    def over(
        self, names: Iterable[str], without: Iterable[str] = (), best_first: SegmentRanks | None = None
    ) -> Iterator[MatchedChunk]:
        """Yield the chunks in which some row may match, with these columns loaded. ``without`` are the fields whose
        conditions the caller may leave out; with ``best_first`` sealed chunks come in that order, until none may hold
        what it looks for."""
        excluded = set(without)
        fixed = [mask for node, mask in self._conditions if not constrains(node, excluded)]
        need = frozenset({f"{self.table}.status"}).union(self._visible.needs, *(m.needs for _, m in self._conditions))
        bounded = frozenset().union(*(mask.needs for mask in fixed), best_first.needs if best_first else ())
        bounds = self._store.bounds(bounded) if bounded else {}
        columns = frozenset(names)
        segments = [
            segment for segment in self._store.segments if all(mask.may(bounds.get(segment.pk, {})) for mask in fixed)
        ]
        if best_first:
            lowest = {segment.pk: best_first.lowest(bounds.get(segment.pk, {})) for segment in segments}
            segments.sort(key=lambda segment: lowest[segment.pk])
        for segment in segments:
            if best_first and not best_first.may_improve(lowest[segment.pk]):
                break
            yield self._matched(self._store.sealed(segment), need, columns)
        yield self._matched(self._store.tail(need | columns), need, columns)

    def _matched(self, chunk: ColumnChunk, need: frozenset[str], columns: frozenset[str]) -> MatchedChunk:
        self._deadline.check()
        chunk.load(need)
        return MatchedChunk(self.table, chunk, self._visible, self._conditions, columns)


class ScanCounter(Protocol):
    """Counts something over all chunks of a scan."""

    @property
    def needs(self) -> Set[str]:
        """The columns it reads."""

    def add(self, matched: MatchedChunk) -> None:
        """Count the rows of a chunk that match."""


def count(scan: Scan, counters: Sequence[ScanCounter], without: Iterable[str] = ()) -> None:
    """Let each of these counters count over one pass of a scan. ``without`` are the fields whose conditions some of
    them leave out."""
    for matched in scan.over(frozenset().union(*(counter.needs for counter in counters)), without):
        for counter in counters:
            counter.add(matched)


def constrains(node: tree.Node, names: set[str]) -> bool:
    """Whether a condition is on one of these fields alone."""
    match node:
        case tree.FieldTerm():
            return ".".join((node.field, *map(str, node.path))) in names
        case tree.Not():
            return constrains(node.node, names)
        case tree.Or():
            return any(all(constrains(inner, {name}) for inner in node.nodes) for name in names)
        case _:
            return False


@dataclass(slots=True)
class MatchedChunk:
    """One chunk, and the rows of it that match."""

    table: Table
    chunk: ColumnChunk
    _visible: Mask | None
    _conditions: list[tuple[tree.Node, Mask]]
    _columns: frozenset[str]
    _matches: dict[tuple[int, ...], Rows | None] = field(default_factory=dict)

    def rows(self, without: str = "") -> Rows | None:
        """Return the rows that match, without the conditions on the field ``without``; None for none."""
        active = tuple(
            index for index, (node, _) in enumerate(self._conditions) if not (without and constrains(node, {without}))
        )
        if active not in self._matches:
            self._matches[active] = self._matching(active)
        return self._matches[active]

    def _matching(self, active: tuple[int, ...]) -> Rows | None:
        masks = [self._conditions[index][1] for index in active]
        matches = AllOf(self.table, [*filter(None, [self._visible]), *masks]).of(self.chunk)
        fresh = self.chunk.fresh(self.table)
        if fresh is not None:
            matches = matches & fresh
        if not matches.any():
            return None
        self.chunk.load(self._columns)
        return ALL if matches.all() else np.flatnonzero(matches)

    def column(self, name: str, rows: Rows) -> Column:
        """Return a column of these rows: the table's own, or inherited from their turns."""
        if not name.startswith(f"{self.table}."):
            rows = self.chunk.turns_of(self.table)[rows]
        column = self.chunk[name]
        if isinstance(column, Coded):
            return Coded(column.values, column.codes[rows])
        return type(column)(column.numbers[rows])

    def ints(self, name: str, rows: Rows) -> Array:
        column = self.column(name, rows)
        assert not isinstance(column, Ragged)
        return column.ints

    def size(self, rows: Rows) -> int:
        return self.chunk.rows(self.table) if isinstance(rows, slice) else len(rows)
