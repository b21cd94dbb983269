"""From rows of one level to those of another: which are above and below, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Exists, F, Func, OuterRef, Q, Subquery, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from agents.base.access import Actor
from agents.logs.store.conditions import listed
from agents.query.tree import LEVELS, Level
from agents.record.models.agents import Agent, Session
from agents.record.models.turns import Response, Step, Turn
from agents.record.store.search import ALL, Keys


@dataclass(frozen=True, slots=True)
class Sight:
    """Who asks for rows of a level, and which alone are in question, where only some are: those of the
    turns ``only``; those that have keys ``within`` these, with what is above and below them."""

    actor: Actor
    level: Level
    only: tuple[int, ...] | None = None
    within: Mapping[Level, Keys] | None = None

    def documents(self, level: Level) -> Keys:
        """The keys of a level that can matter."""
        return (self.within or {}).get(level, ALL)

    def towards(self, at: Level, level: Level) -> Sight:
        """What is asked of rows of another level: more than those in question belong to what is above
        them, and to that again what is below it."""
        if level == at:
            return self
        near = self.within if at == self.level else {}
        within = None if near is None else {level: near[level]} if level in near else {}
        return replace(self, within=within, only=self.only if is_below(level, at) else None)


MODELS: dict[Level, Any] = {"agent": Agent, "session": Session, "turn": Turn, "response": Response, "step": Step}
_UP: dict[tuple[Level, Level], str] = {
    ("session", "agent"): "agent_id",
    ("turn", "agent"): "agent_id",
    ("turn", "session"): "session_id",
    ("response", "agent"): "turn__agent_id",
    ("response", "session"): "turn__session_id",
    ("response", "turn"): "turn_id",
    ("step", "agent"): "turn__agent_id",
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


def some(at: Level, level: Level, condition: Q, sight: Sight) -> Q:
    """Rows of ``at`` with a row of ``level``, above or below them, that fulfils a condition."""
    if level == at:
        return condition
    if is_below(level, at):
        return Q(Exists(_below(at, level, sight, OuterRef).filter(condition)))
    if (at, level) == ("step", "response"):
        return Q(Exists(_leg_of_step(sight).filter(condition)))
    rows = MODELS[level].objects.unscoped("what a visible row is in").filter(condition)
    if sight.within is None:
        return Q(**{f"{_UP[at, level]}__in": rows.values("pk")})
    return _above(_UP[at, level], rows.filter(among(sight.documents(level))), sight)


def _above(column: str, rows: Any, sight: Sight) -> Q:
    """Without a join: a page would be sorted after it."""
    owner, _, column = column.rpartition("__")
    found = Q(**{f"{column}__in": rows.values("pk")})
    if not owner:
        return found
    turns = Turn.objects.unscoped("what a visible row is in").filter(found, among(sight.documents("turn")))
    return Q(turn_id__in=turns.values("pk"))


def among(keys: Keys, column: str = "pk") -> Q:
    """Rows of these keys."""
    if keys.among is not None:
        return Q(**{f"{column}__in": listed(keys.among)})
    first = Q(**{f"{column}__gte": keys.since}) if keys.since else Q()
    return first if keys.until is None else first & Q(**{f"{column}__lt": keys.until})


def end(at: Level, level: Level, condition: Q, sight: Sight, *, last: bool) -> Q:
    """Rows of ``at`` whose first or last row of ``level`` fulfils a condition."""
    if not is_below(level, at):
        return some(at, level, condition, sight)
    order = [f"-{name}" if last else name for name in _ORDER[at, level]]
    nearest = _below(at, level, sight, lambda name: OuterRef(OuterRef(name))).order_by(*order).values("pk")[:1]
    rows = MODELS[level].objects.unscoped("one of those seen").filter(condition, pk=Subquery(nearest))
    return Q(Exists(rows))


def number(at: Level, level: Level, condition: Q, sight: Sight) -> Any:
    """How many rows of a lower level fulfil a condition. It is no filter, but looked at in those that belong
    to the row: SQLite would take an index for the condition, and so read all that fulfil it for each row.
    Django asks for none where it sees that none can; that is NULL then, and not 0."""
    counted = Func(Case(When(condition, then=F("pk"))), function="COUNT")
    rows = _below(at, level, sight, OuterRef).order_by()
    return Coalesce(Subquery(rows.annotate(how_many=counted).values("how_many")), 0)


def _below(at: Level, level: Level, sight: Sight, outer: Callable[[str], Combinable]) -> Any:
    """The rows of a level under a row of ``at``, whose columns ``outer`` names."""
    if at == "response":
        return _steps_of_leg(outer)
    rows = MODELS[level].objects
    seen = rows.unscoped("its turn is visible") if at == "turn" else rows.visible_to(sight.actor)
    return seen.filter(**{_UP[level, at]: outer("pk")})


def _steps_of_leg(outer: Callable[[str], Combinable]) -> Any:
    """The steps from a leg's first on, up to the next leg's."""
    later = Response.objects.unscoped("its turn is visible").filter(
        turn=OuterRef("turn_id"), first_step__lte=OuterRef("number"), number__gt=_wrapped(outer, "number")
    )
    steps = Step.objects.unscoped("its turn is visible")
    return steps.filter(~Exists(later), turn=outer("turn_id"), number__gte=outer("first_step"))


def _wrapped(outer: Callable[[str], Any], name: str) -> Any:
    """The same column seen from one query further in."""
    return OuterRef(outer(name))


def _leg_of_step(sight: Sight) -> Any:
    """The leg a step was made in: the last that begins at it or before."""
    later = Response.objects.unscoped("its turn is visible").filter(
        turn=OuterRef("turn_id"), number__gt=OuterRef("number"), first_step__lte=OuterRef(OuterRef("number"))
    )
    legs = Response.objects.unscoped("its turn is visible")
    return legs.filter(~Exists(later), turn=OuterRef("turn_id"), first_step__lte=OuterRef("number"))
