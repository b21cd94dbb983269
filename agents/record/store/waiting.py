"""Finds the turns that wait for a person: for answers to calls, or for a decision about a call in doubt.

Both kinds are few and have an index, so that neither the number of all turns nor a turn's run is in the way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.base.access import Actor
from agents.record.models.choices import EXTERNAL, StepStatus, StepType, TurnStatus
from agents.record.models.turns import Step, Turn

MOST_COUNTED = 100
"""Waiting turns are counted up to this number."""
MOST_NAMED = 1000
"""Waiting turns of which agents and tools are listed, the oldest first; and turns in doubt, of all actors, that are
looked at."""
_CALLS = Q(status=StepStatus.AWAITING_INPUT) | Q(status=StepStatus.IN_PROGRESS, type=StepType.TOOL_EXECUTION)


@dataclass(frozen=True, slots=True)
class WaitingFilter:
    """Which waiting turns are looked for: of this agent, with a call of this tool that waits."""

    agent: int | None = None
    tool: str = ""


ALL_WAITING = WaitingFilter()


def waiting_turns(
    actor: Actor, chosen: WaitingFilter = ALL_WAITING, *, after: int | None = None, limit: int = MOST_COUNTED
) -> list[int]:
    """Return the keys of the waiting turns that the actor sees and that begin after this one, the oldest first."""
    keys: set[int] = set()
    for waits in (Q(status=TurnStatus.AWAITING_INPUT), Q(pk__in=_in_doubt())):
        rows = Turn.objects.visible_to(actor).filter(waits).exclude(source__in=EXTERNAL)
        if after is not None:
            rows = rows.filter(pk__gt=after)
        keys.update(_chosen(rows, chosen).order_by("pk").values_list("pk", flat=True)[:limit])
    return sorted(keys)[:limit]


def _in_doubt() -> list[int]:
    """Return the turns of all actors with a call in doubt, by themselves: beside another condition, the database would
    rather look through all turns than use the index of these."""
    rows = Turn.objects.unscoped("they are narrowed").filter(doubt_at__isnull=False).order_by("doubt_at")
    return list(rows.values_list("pk", flat=True)[:MOST_NAMED])


def _chosen(rows: QuerySet[Turn], chosen: WaitingFilter) -> QuerySet[Turn]:
    if chosen.agent is not None:
        rows = rows.filter(agent_id=chosen.agent)
    if chosen.tool:
        calls = Step.objects.unscoped("its turn is visible").filter(_CALLS, turn_id=OuterRef("pk"), name=chosen.tool)
        rows = rows.filter(Exists(calls))
    return rows


def count_waiting(actor: Actor) -> int:
    """Count the waiting turns that the actor sees, up to `MOST_COUNTED`."""
    return len(waiting_turns(actor))


def agents_and_tools(actor: Actor) -> tuple[list[tuple[int, str]], list[str]]:
    """Return the agents of waiting turns, with their names, and the tools of their calls."""
    keys = waiting_turns(actor, limit=MOST_NAMED)
    rows = Turn.objects.unscoped("they are visible").filter(pk__in=keys, agent__isnull=False)
    agents = rows.values_list("agent_id", "agent__name", "agent__model").distinct()
    tools = Step.objects.unscoped("their turns are visible").filter(_CALLS, turn_id__in=keys)
    named = sorted(((key, name or model) for key, name, model in agents), key=lambda pair: (pair[1].lower(), pair[0]))
    return named, sorted(set(tools.values_list("name", flat=True)))


def waiting_steps(turn: int, doubtful: Collection[int]) -> Sequence[int]:
    """Return the keys of a turn's steps that wait for an answer, or whose calls are among these ``doubtful`` ones."""
    rows = Step.objects.unscoped("its turn is visible").filter(turn_id=turn)
    waits = Q(status=StepStatus.AWAITING_INPUT) | Q(pk__in=list(doubtful))
    return list(rows.filter(waits).order_by("number").values_list("pk", flat=True))
