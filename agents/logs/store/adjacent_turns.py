"""Find the turns before and after a turn, and rank its duration among those of its agent."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base.access import Actor
from agents.logs.store import turn_log
from agents.query.tree import Query
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn

MAX_COMPARED = 1_000
"""Turns that a duration is compared with."""
MIN_COMPARED = 20
"""Fewer say nothing."""


@dataclass(frozen=True, slots=True)
class AdjacentTurns:
    """The keys of the turns before and after one."""

    before: int | None = None
    after: int | None = None


def in_session(actor: Actor, session: int, turn: int) -> AdjacentTurns:
    """Return the turns of a session before and after one."""
    rows = Turn.objects.visible_to(actor).filter(session_id=session)
    number = rows.filter(pk=turn).values_list("number", flat=True).first()
    if number is None:
        return AdjacentTurns()
    keys = rows.values_list("pk", flat=True)
    return AdjacentTurns(
        keys.filter(number__lt=number).order_by("-number").first(),
        keys.filter(number__gt=number).order_by("number").first(),
    )


def in_list(actor: Actor, query: Query, turn: int) -> AdjacentTurns:
    """Return the older and the newer turn under a query."""
    older = turn_log.turns_page(actor, query, after=turn, limit=1).rows
    newer = turn_log.turns_page(actor, query, before=turn, limit=1).rows
    return AdjacentTurns(older[0].id if older else None, newer[0].id if newer else None)


@dataclass(frozen=True, slots=True)
class DurationRank:
    """The share of turns, in ``percent``, that were quicker, out of the last ``of`` turns."""

    percent: int
    of: int


def rank(actor: Actor, agent: int, duration_us: int) -> DurationRank | None:
    """Rank a turn's duration among the last completed ones of its agent; None where there are too few."""
    rows = Turn.objects.visible_to(actor).filter(agent_id=agent, status=TurnStatus.COMPLETED)
    durations = [
        duration
        for duration in rows.order_by("-pk").values_list("duration_us", flat=True)[:MAX_COMPARED]
        if duration is not None
    ]
    if len(durations) < MIN_COMPARED:
        return None
    return DurationRank(100 * sum(duration < duration_us for duration in durations) // len(durations), len(durations))
