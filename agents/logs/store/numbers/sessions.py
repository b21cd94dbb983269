"""Scan sessions: few enough to be read from their rows, once for each request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from agents.base.access import Actor
from agents.logs.store.numbers.chunks import ColumnChunk
from agents.logs.store.numbers.scan import MatchedChunk, Rows, Scan, SegmentRanks, constrains
from agents.logs.store.numbers.snapshot import Deadline
from agents.logs.store.numbers.table import columns
from agents.logs.store.query import condition
from agents.query import tree
from agents.query.tree import Query
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn


class SessionScan(Scan):
    """Like a `Scan`; the database applies the conditions. A session ended as its last turn did."""

    def __init__(self, actor: Actor, query: Query, deadline: Deadline) -> None:
        self.table = "session"
        self._actor = actor
        self._query = query
        self._deadline = deadline

    def over(
        self, names: Iterable[str], without: Iterable[str] = (), best_first: SegmentRanks | None = None
    ) -> Iterator[MatchedChunk]:
        yield _SessionChunk(self._actor, self._query, self._deadline, sorted({*names, "session.status"}))


class _SessionChunk(MatchedChunk):
    """The sessions that match; read again for each field whose conditions are left out."""

    def __init__(self, actor: Actor, query: Query, deadline: Deadline, names: list[str]) -> None:
        super().__init__("session", ColumnChunk({}), None, [], frozenset())
        self._request = (actor, query, deadline, [name.partition(".")[2] for name in names])
        self._without: str | None = None

    def rows(self, without: str = "") -> Rows | None:
        actor, query, deadline, names = self._request
        deadline.check()
        active = [node for node in tree.conjuncts(query.tree) if not (without and constrains(node, {without}))]
        reduced = "" if len(active) == len(tree.conjuncts(query.tree)) else without
        if self._without != reduced:
            reduced_query = query.model_copy(update={"tree": tree.all_of(active)})
            self.chunk = ColumnChunk(columns("session", _sessions(actor, reduced_query), names))
            self._without = reduced
        return slice(None) if self.chunk.rows("session") else None


def _sessions(actor: Actor, query: Query) -> QuerySet[Any, Any]:
    last_turn = Turn.objects.unscoped("of visible sessions").filter(pk=OuterRef("last_turn")).values("status")
    status = Coalesce(Subquery(last_turn), Value(TurnStatus.COMPLETED.value))
    rows: QuerySet[Any, Any] = Session.objects.visible_to(actor).filter(condition(query, actor))
    counted: QuerySet[Any, Any] = rows.annotate(status=status)
    return counted
