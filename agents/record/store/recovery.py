"""Reads what became of a turn after its process was lost: few events among many, of few turns."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from agents.base.store.sql import Select
from agents.record.models.turns import Turn
from agents.record.schemas.events import EVENT, StepDecided, StepInDoubt, StepRepeated, TurnTakenOver
from agents.record.store import replay

RecoveryEvent = TurnTakenOver | StepInDoubt | StepDecided | StepRepeated
"""An event that a run does not come to by itself: a takeover, or what follows from it."""

_TYPES = tuple(f'"{name}"'.encode() for name in ("turn.taken_over", "step.in_doubt", "step.decided", "step.repeated"))
_EPOCH = Select(Turn, "lease_epoch", "id = %s")
MAX_KNOWN = 512
"""Turns whose logs need not be looked through from their beginning again."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the first ``count`` events of a turn hold."""

    count: int = 0
    found: tuple[RecoveryEvent, ...] = ()


_known: OrderedDict[int, _Looked] = OrderedDict()
"""By turn, those that were looked at last at the end. Events do not change."""


def recovery_events(turn: int) -> list[RecoveryEvent]:
    """Return these events of a turn, in order. A turn that has kept its process costs one small query; of any other the
    log is looked through, from where it was looked through last. The caller has checked that the turn is visible."""
    row = _EPOCH.first(turn)
    if row is None or not row[0]:
        return []
    looked = _known.pop(turn, None) or _Looked()
    bodies = replay.event_bodies(turn, looked.count - 1)
    likely = (EVENT.validate_json(body) for body in bodies if any(name in body for name in _TYPES))
    found = (*looked.found, *(event for event in likely if isinstance(event, RecoveryEvent)))
    _known[turn] = _Looked(looked.count + len(bodies), found)
    while len(_known) > MAX_KNOWN:
        _known.popitem(last=False)
    return list(found)
