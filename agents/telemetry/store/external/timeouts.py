"""Ends external turns for which no end was reported: after a while without news they count as interrupted, and those
that wait for an answer as cancelled, until more is reported."""

from __future__ import annotations

from django.db.models import QuerySet

from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.record.models.choices import EXTERNAL, TurnStatus
from agents.record.models.turns import Step, Turn
from agents.record.store import recorder
from agents.telemetry.store.external import provenance
from agents.telemetry.store.external.waits import UNANSWERED

QUIET_US = 600_000_000
"""Ten minutes."""
MAX_TURNS = 500
"""Turns that one call examines."""


def end_quiet_turns(now_us: int, quiet_us: int = QUIET_US) -> int:
    """Interrupt the external turns in progress that got no spans for ``quiet_us``; returns how many."""
    keys = list(_external(TurnStatus.IN_PROGRESS).order_by("pk").values_list("pk", flat=True)[:MAX_TURNS])
    quiet_turns = [key for key in keys if not provenance.has_news(key, now_us - quiet_us)]
    return _end(quiet_turns, TurnStatus.IN_PROGRESS, TurnStatus.INTERRUPTED, "no end was reported")


def end_unanswered_turns(now_us: int) -> int:
    """Cancel the external turns that ended with a question longer ago than our own wait for an answer; returns how
    many."""
    oldest = to_datetime(now_us - recorder.longest_wait_us())
    rows = _external(TurnStatus.AWAITING_INPUT).filter(completed_at__lt=oldest)
    keys = list(rows.values_list("pk", flat=True)[:MAX_TURNS])
    return _end(keys, TurnStatus.AWAITING_INPUT, TurnStatus.CANCELLED, UNANSWERED)


def _external(status: TurnStatus) -> QuerySet[Turn]:
    return Turn.objects.unscoped("ageing").filter(status=status, source__in=EXTERNAL)


def _end(keys: list[int], status: TurnStatus, end: TurnStatus, reason: str) -> int:
    """End these turns and their steps, as far as they have this status."""

    def write() -> None:
        turns = Turn.objects.unscoped("ageing").filter(pk__in=keys, status=status)
        turns.update(status=end, stop_reason=reason)
        steps = Step.objects.unscoped("ageing").filter(turn_id__in=keys, status=status)  # theirs have the same numbers
        for key in list(steps.values_list("pk", flat=True)):
            changes.note(ChangeKind.STEP, key)
        steps.update(status=end)
        for key in keys:
            changes.note(ChangeKind.TURN, key)

    if keys:
        writer.write(write)
    return len(keys)
