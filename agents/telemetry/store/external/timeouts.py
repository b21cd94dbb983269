"""Ends external turns for which no end was reported: after a while without news they count as interrupted, until
more spans of them arrive."""

from __future__ import annotations

import json

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.record.models.choices import EXTERNAL, StepStatus, TurnStatus
from agents.record.models.turns import Step, Turn, TurnBody
from agents.telemetry.models.traces import Trace
from agents.telemetry.store.external.owners import external_id

QUIET_US = 600_000_000
"""Ten minutes."""
MAX_TURNS = 500
"""Turns that one call examines."""


def end_quiet_turns(now_us: int, quiet_us: int = QUIET_US) -> int:
    """Interrupt the external turns in progress that got no spans for ``quiet_us``; returns how many."""
    rows = Turn.objects.unscoped("ageing").filter(status=TurnStatus.IN_PROGRESS, source__in=EXTERNAL)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:MAX_TURNS])
    quiet_turns = [key for key in keys if not _has_news(key, now_us - quiet_us)]
    if quiet_turns:
        writer.write(lambda: _interrupt(quiet_turns))
    return len(quiet_turns)


def _has_news(turn: int, since_us: int) -> bool:
    rows = Turn.objects.unscoped("ageing").filter(pk=turn).values("owner_id", "scope_id")
    traces = Trace.objects.unscoped("ageing").filter(**rows[0], foreign_id__in=trace_ids(turn))
    return traces.filter(updated_at__gt=to_datetime(since_us)).exists()


def trace_ids(turn: int) -> list[str]:
    """The stored ids of the traces that a turn was made of."""
    rows = TurnBody.objects.unscoped("ageing").filter(pk=turn).values_list("request", flat=True)
    external = json.loads(rows.first() or "{}").get("foreign", {})
    return [external_id(name) for name in external.get("traces", ())]


def _interrupt(turns: list[int]) -> None:
    running = Turn.objects.unscoped("ageing").filter(pk__in=turns, status=TurnStatus.IN_PROGRESS)
    running.update(status=TurnStatus.INTERRUPTED, stop_reason="no end was reported")
    steps = Step.objects.unscoped("ageing").filter(turn_id__in=turns, status=StepStatus.IN_PROGRESS)
    for key in list(steps.values_list("pk", flat=True)):
        changes.note(ChangeKind.STEP, key)
    steps.update(status=StepStatus.INTERRUPTED)
    for key in turns:
        changes.note(ChangeKind.TURN, key)
