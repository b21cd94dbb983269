"""Where a turn stands among others: before and behind it, and how long these took."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base.access import Actor
from agents.logs.store import turn_log
from agents.query.tree import Query
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn

LAST = 1_000
"""Turns that a duration is compared with."""
FEWEST = 20
"""Fewer say nothing."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The turns before and behind one, by their keys."""

    before: int | None = None
    behind: int | None = None


def in_session(actor: Actor, session: int, turn: int) -> Beside:
    """The turns of a session that were asked before and after one."""
    rows = Turn.objects.visible_to(actor).filter(session_id=session)
    number = rows.filter(pk=turn).values_list("number", flat=True).first()
    if number is None:
        return Beside()
    keys = rows.values_list("pk", flat=True)
    return Beside(
        keys.filter(number__lt=number).order_by("-number").first(),
        keys.filter(number__gt=number).order_by("number").first(),
    )


def in_list(actor: Actor, query: Query, turn: int) -> Beside:
    """The older and the newer turn under a query."""
    older = turn_log.turns_page(actor, query, after=turn, limit=1).rows
    newer = turn_log.turns_page(actor, query, before=turn, limit=1).rows
    return Beside(older[0].id if older else None, newer[0].id if newer else None)


@dataclass(frozen=True, slots=True)
class Rank:
    """``percent`` of the ``of`` last turns were quicker."""

    percent: int
    of: int


def rank(actor: Actor, agent: int, duration_us: int) -> Rank | None:
    """How long a turn took among the last completed ones of its agent; None where there are too few."""
    rows = Turn.objects.visible_to(actor).filter(agent_id=agent, status=TurnStatus.COMPLETED)
    found = [each for each in rows.order_by("-pk").values_list("duration_us", flat=True)[:LAST] if each is not None]
    if len(found) < FEWEST:
        return None
    return Rank(100 * sum(each < duration_us for each in found) // len(found), len(found))
