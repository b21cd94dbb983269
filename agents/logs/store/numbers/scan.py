"""A query over all chunks: which rows of each match, some of its conditions left out on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np

from agents.base.access import Actor
from agents.logs.store.numbers.chunks import Chunk, Store
from agents.logs.store.numbers.columns import Array, Coded, Column, Ragged
from agents.logs.store.numbers.masks import Both, Mask
from agents.logs.store.numbers.plan import Plan
from agents.logs.store.numbers.snapshot import Deadline
from agents.logs.store.numbers.table import Table
from agents.query import tree
from agents.query.tree import Query

Rows: TypeAlias = "slice | Array"
"""All rows, or the places of some."""
ALL = slice(None)


def scan_of(actor: Actor, query: Query, deadline: Deadline) -> Scan:
    """The scan of rows of the query's level."""
    from agents.logs.store.numbers.sessions import SessionScan

    return (SessionScan if query.level == "session" else Scan)(actor, query, deadline)


class Scan:
    """One pass over the turns, or what is below them, that an actor may see and a query accepts."""

    def __init__(self, actor: Actor, query: Query, deadline: Deadline) -> None:
        self.table = cast(Table, query.level)
        self._deadline = deadline
        self._store = Store.open()
        plan = Plan(actor, query, self.table)
        self._seen, self._conditions = plan.seen, plan.conditions

    def over(self, names: Iterable[str], without: Iterable[str] = ()) -> Iterator[Sifted]:
        """The chunks in which something may match, with these columns at hand. ``without`` are
        the fields that a reader may ask to leave out."""
        left_out = set(without)
        fixed = [mask for node, mask in self._conditions if not constrains(node, left_out)]
        need = frozenset({f"{self.table}.status"}).union(self._seen.needs, *(m.needs for _, m in self._conditions))
        zones = self._store.zones(frozenset().union(*(mask.needs for mask in fixed))) if fixed else {}
        wanted = frozenset(names)
        for head in self._store.heads:
            if all(mask.may(zones.get(head.pk, {})) for mask in fixed):
                yield self._sifted(self._store.sealed(head), need, wanted)
        yield self._sifted(self._store.tail(need | wanted), need, wanted)

    def _sifted(self, chunk: Chunk, need: frozenset[str], wanted: frozenset[str]) -> Sifted:
        self._deadline.check()
        chunk.load(need)
        return Sifted(self.table, chunk, self._seen, self._conditions, wanted)


def constrains(node: tree.Node, names: set[str]) -> bool:
    """Whether a condition is about one of these fields and nothing else."""
    match node:
        case tree.FieldTerm():
            return node.field in names and not node.path
        case tree.Not():
            return constrains(node.node, names)
        case tree.Or():
            return any(all(constrains(inner, {name}) for inner in node.nodes) for name in names)
        case _:
            return False


@dataclass(slots=True)
class Sifted:
    """One chunk, and which of its rows match."""

    table: Table
    chunk: Chunk
    _seen: Mask | None
    _conditions: list[tuple[tree.Node, Mask]]
    _wanted: frozenset[str]
    _found: dict[tuple[int, ...], Rows | None] = field(default_factory=dict)

    def rows(self, without: str = "") -> Rows | None:
        """The rows that match, conditions on the field ``without`` left out; None for none."""
        kept = tuple(
            place for place, (node, _) in enumerate(self._conditions) if not (without and constrains(node, {without}))
        )
        if kept not in self._found:
            self._found[kept] = self._matching(kept)
        return self._found[kept]

    def _matching(self, kept: tuple[int, ...]) -> Rows | None:
        masks = [self._conditions[place][1] for place in kept]
        found = Both(self.table, [*filter(None, [self._seen]), *masks]).of(self.chunk)
        fresh = self.chunk.fresh(self.table)
        if fresh is not None:
            found = found & fresh
        if not found.any():
            return None
        self.chunk.load(self._wanted)
        return ALL if found.all() else np.flatnonzero(found)

    def column(self, name: str, rows: Rows) -> Column:
        """A column of these rows: the table's own, or inherited from their turns."""
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
