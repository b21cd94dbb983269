"""Reads what became of a turn after its process was lost: few events among many, of few turns."""

from __future__ import annotations

from agents.base.store.sql import Select
from agents.record.models.turns import Turn
from agents.record.schemas.events import EVENT, StepDecided, StepInDoubt, StepRepeated, TurnTakenOver
from agents.record.store import replay

RecoveryEvent = TurnTakenOver | StepInDoubt | StepDecided | StepRepeated
"""An event that a run does not come to by itself: a takeover, or what follows from it."""

_TYPES = tuple(f'"{name}"'.encode() for name in ("turn.taken_over", "step.in_doubt", "step.decided", "step.repeated"))
_EPOCH = Select(Turn, "lease_epoch", "id = %s")


def recovery_events(turn: int) -> list[RecoveryEvent]:
    """Return these events of a turn, in order. A turn that has kept its process costs one small query; of any other
    the whole log is looked through. The caller has checked that the turn is visible."""
    row = _EPOCH.first(turn)
    if row is None or not row[0]:
        return []
    likely = (body for body in replay.event_bodies(turn) if any(name in body for name in _TYPES))
    events = map(EVENT.validate_json, likely)
    return [event for event in events if isinstance(event, RecoveryEvent)]
