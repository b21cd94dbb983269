"""Relate rows of one level to those of another: which are above and below, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_
from typing import Any

from django.db.models import Case, Exists, F, Func, OuterRef, Q, Subquery, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from agents.base.access import Actor
from agents.logs.store.conditions import key_list
from agents.query.tree import LEVELS, Level
from agents.record.models.agents import Agent, Session
from agents.record.models.turns import Response, Step, Turn
from agents.record.store.search import ALL, KeyRange


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The actor and level of a query, and the rows it is limited to, if any: those of the turns ``only``;
    those with keys ``within`` these, of the own level and of those above and below."""

    actor: Actor
    level: Level
    only: tuple[int, ...] | None = None
    within: Mapping[Level, KeyRange] | None = None

    def documents(self, level: Level) -> KeyRange:
        """Return the keys of a level that the search index must consider."""
        return (self.within or {}).get(level, ALL)

    def for_level(self, at: Level, level: Level) -> QueryContext:
        """Return the context for conditions on rows of another level. Its limits are dropped where they would
        be too narrow: a session also has turns that are not in question, and those again have steps."""
        if level == at:
            return self
        known = self.within if at == self.level else {}
        within = None if known is None else {level: known[level]} if level in known else {}
        return replace(self, within=within, only=self.only if is_below(level, at) else None)


MODELS: dict[Level, Any] = {"agent": Agent, "session": Session, "turn": Turn, "response": Response, "step": Step}
_UP: dict[tuple[Level, Level], str] = {
    ("session", "agent"): "agent_id",
    ("turn", "agent"): "agent_id",
    ("turn", "session"): "session_id",
    ("response", "agent"): "turn__agent_id",
    ("response", "session"): "turn__session_id",
    ("response", "turn"): "turn_id",
    ("step", "agent"): "turn__agent_id",  # of those that no other agent did
    ("step", "session"): "turn__session_id",
    ("step", "turn"): "turn_id",
}
_ORDER: dict[tuple[Level, Level], tuple[str, ...]] = {
    ("agent", "session"): ("pk",),
    ("agent", "turn"): ("session_id", "number"),
    ("agent", "response"): ("turn__session_id", "turn__number", "number"),
    ("agent", "step"): ("turn__session_id", "turn__number", "number"),
    ("session", "turn"): ("number",),
    ("session", "response"): ("turn__number", "number"),
    ("session", "step"): ("turn__number", "number"),
    ("turn", "response"): ("number",),
    ("turn", "step"): ("number",),
    ("response", "step"): ("number",),
}


def is_below(level: Level, other: Level) -> bool:
    return LEVELS.index(level) > LEVELS.index(other)


def rows_with(at: Level, level: Level, condition: Q, context: QueryContext) -> Q:
    """Build the condition on rows of ``at`` with a row of ``level``, above or below, that fulfils a condition."""
    if level == at:
        return condition
    if is_below(level, at):
        return reduce(or_, (Q(Exists(rows.filter(condition))) for rows in _below(at, level, context, OuterRef)))
    if (at, level) == ("step", "response"):
        return Q(Exists(_response_of_step(context).filter(condition)))
    rows = MODELS[level].objects.unscoped("what a visible row is in").filter(condition)
    if context.within is not None:
        rows = rows.filter(among(context.documents(level)))
    inherited = _above(_UP[at, level], rows, context)
    if (at, level) == ("step", "agent"):
        return Q(agent_id__in=rows.values("pk")) | (_OF_TURNS_AGENT & inherited)
    return inherited


_OF_TURNS_AGENT = Q(agent_id__isnull=True)
"""Steps that the agent of their turn did."""


def _above(column: str, rows: Any, context: QueryContext) -> Q:
    """Avoid a join in a page: with one, the database would sort it only after joining all rows."""
    if context.within is None:
        return Q(**{f"{column}__in": rows.values("pk")})
    owner, _, column = column.rpartition("__")
    condition = Q(**{f"{column}__in": rows.values("pk")})
    if not owner:
        return condition
    turns = Turn.objects.unscoped("what a visible row is in").filter(condition, among(context.documents("turn")))
    return Q(turn_id__in=turns.values("pk"))


def among(keys: KeyRange, column: str = "pk") -> Q:
    """Build the condition on rows of these keys."""
    if keys.among is not None:
        return Q(**{f"{column}__in": key_list(keys.among)})
    first = Q(**{f"{column}__gte": keys.since}) if keys.since else Q()
    return first if keys.until is None else first & Q(**{f"{column}__lt": keys.until})


def rows_with_end(at: Level, level: Level, condition: Q, context: QueryContext, *, last: bool) -> Q:
    """Build the condition on rows of ``at`` whose first or last row of ``level`` fulfils a condition."""
    if not is_below(level, at):
        return rows_with(at, level, condition, context)
    order = [f"-{name}" if last else name for name in _ORDER[at, level]]
    parts = _below(at, level, context, lambda name: OuterRef(OuterRef(name)))
    nearest = reduce(or_, parts).order_by(*order).values("pk")[:1]
    rows = MODELS[level].objects.unscoped("one of those seen").filter(condition, pk=Subquery(nearest))
    return Q(Exists(rows))


def count_below(at: Level, level: Level, condition: Q, context: QueryContext) -> Any:
    """Count the rows of a lower level that fulfil a condition. The condition is not a filter but a CASE over the
    rows of each parent: for a filter, SQLite would choose its index and read all rows that fulfil it, once for
    each parent. Where Django sees that no row can match, it leaves the subquery out; that gives NULL instead of 0."""
    counted = Func(Case(When(condition, then=F("pk"))), function="COUNT")
    parts = (rows.order_by() for rows in _below(at, level, context, OuterRef))
    counts = (Coalesce(Subquery(rows.annotate(how_many=counted).values("how_many")), 0) for rows in parts)
    return reduce(add, counts)


def _below(at: Level, level: Level, context: QueryContext, outer: Callable[[str], Combinable]) -> list[Any]:
    """Return the rows of a level under a row of ``at``, whose columns ``outer`` names: all of them together, or in
    parts that the database finds by different indexes."""
    if at == "response":
        return [_steps_of_response(outer)]
    rows = MODELS[level].objects
    visible = rows.unscoped("its turn is visible") if at == "turn" else rows.visible_to(context.actor)
    under = visible.filter(**{_UP[level, at]: outer("pk")})
    if (at, level) == ("agent", "step"):
        return [under.filter(_OF_TURNS_AGENT), visible.filter(agent_id=outer("pk"))]
    return [under]


def _steps_of_response(outer: Callable[[str], Combinable]) -> Any:
    """Return the steps of a response: from its first step up to that of the next response."""
    later = Response.objects.unscoped("its turn is visible").filter(
        turn=OuterRef("turn_id"), first_step__lte=OuterRef("number"), number__gt=_wrapped(outer, "number")
    )
    steps = Step.objects.unscoped("its turn is visible")
    return steps.filter(~Exists(later), turn=outer("turn_id"), number__gte=outer("first_step"))


def _wrapped(outer: Callable[[str], Any], name: str) -> Any:
    """Refer to the same column from one subquery deeper."""
    return OuterRef(outer(name))


def _response_of_step(context: QueryContext) -> Any:
    """Return the response a step belongs to: the last one that begins at or before the step."""
    later = Response.objects.unscoped("its turn is visible").filter(
        turn=OuterRef("turn_id"), number__gt=OuterRef("number"), first_step__lte=OuterRef(OuterRef("number"))
    )
    responses = Response.objects.unscoped("its turn is visible")
    return responses.filter(~Exists(later), turn=OuterRef("turn_id"), first_step__lte=OuterRef("number"))
