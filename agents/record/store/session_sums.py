"""Sums of a session's turns, and the duration of each."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from agents.base.access import Actor
from agents.base.timestamps import to_us
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn


@dataclass(frozen=True, slots=True)
class SessionSums:
    """Sums over the turns of a session that an actor may see: ``duration_us`` of those that ended; ``cost_nano`` of
    those with a cost, None where none has one; ``without_cost`` counts the others."""

    turns: int
    failed: int
    duration_us: int
    input_tokens: int
    output_tokens: int
    cost_nano: int | None
    without_cost: int


@dataclass(frozen=True, slots=True)
class TurnDuration:
    """A turn of a session: times in microseconds, ``duration_us`` None while it goes on."""

    key: int
    number: int
    status: TurnStatus
    started_at: int
    duration_us: int | None
    tokens: int


def sums(actor: Actor, session: int) -> SessionSums:
    values = (
        Turn.objects.visible_to(actor)
        .filter(session_id=session)
        .aggregate(
            # first: behind it the name is that of the sum
            without_cost=Count("pk", filter=Q(cost_nano=None)),
            turns=Count("pk"),
            failed=Count("pk", filter=Q(status=TurnStatus.FAILED)),
            duration_us=Sum("duration_us", default=0),
            input_tokens=Sum("input_tokens", default=0),
            output_tokens=Sum("output_tokens", default=0),
            cost_nano=Sum("cost_nano"),
        )
    )
    return SessionSums(**values)


def turn_durations(actor: Actor, session: int, limit: int) -> list[TurnDuration]:
    """Return the durations of the last turns of a session, in their order."""
    rows = Turn.objects.visible_to(actor).filter(session_id=session).order_by("-number")
    columns = ("pk", "number", "status", "started_at", "duration_us", "input_tokens", "output_tokens")
    return [
        TurnDuration(key, number, TurnStatus(status), to_us(at), duration, read + written)
        for key, number, status, at, duration, read, written in reversed(rows.values_list(*columns)[:limit])
    ]
