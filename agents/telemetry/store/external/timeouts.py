"""Ends external turns for which no end was reported: after a while without news they count as interrupted, until
more spans of them arrive."""

from __future__ import annotations

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.record.models.choices import EXTERNAL, StepStatus, TurnStatus
from agents.record.models.turns import Step, Turn
from agents.telemetry.store.external import provenance

QUIET_US = 600_000_000
"""Ten minutes."""
MAX_TURNS = 500
"""Turns that one call examines."""


def end_quiet_turns(now_us: int, quiet_us: int = QUIET_US) -> int:
    """Interrupt the external turns in progress that got no spans for ``quiet_us``; returns how many."""
    rows = Turn.objects.unscoped("ageing").filter(status=TurnStatus.IN_PROGRESS, source__in=EXTERNAL)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:MAX_TURNS])
    quiet_turns = [key for key in keys if not provenance.has_news(key, now_us - quiet_us)]
    if quiet_turns:
        writer.write(lambda: _interrupt(quiet_turns))
    return len(quiet_turns)


def _interrupt(turns: list[int]) -> None:
    running = Turn.objects.unscoped("ageing").filter(pk__in=turns, status=TurnStatus.IN_PROGRESS)
    running.update(status=TurnStatus.INTERRUPTED, stop_reason="no end was reported")
    steps = Step.objects.unscoped("ageing").filter(turn_id__in=turns, status=StepStatus.IN_PROGRESS)
    for key in list(steps.values_list("pk", flat=True)):
        changes.note(ChangeKind.STEP, key)
    steps.update(status=StepStatus.INTERRUPTED)
    for key in turns:
        changes.note(ChangeKind.TURN, key)
