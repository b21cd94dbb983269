"""Summarise a turn for its page: duration, outcome, error, and links to the steps that matter."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.logs.schemas.rows import TurnRow
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store.step_pages import Landmarks
from agents.uikit.links import at

PAGE_STEPS = 200
"""Steps on one page of a turn."""

LIVE = frozenset({"queued", "in_progress"})
FINAL = frozenset({"completed", "failed", "cancelled", "interrupted"})
_NORMAL_REASONS = frozenset({"", "end_of_turn", "end_of_message"})
_REASONS = {
    "violation": gettext_noop("stopped by a shield"),
    "max_infer_iters": gettext_noop("iteration limit reached"),
    "out_of_tokens": gettext_noop("token limit reached"),
    "decision_timeout": gettext_noop("no decision about its call was made in time"),
}


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """The summary of a turn. ``failure`` and ``waiting`` are the URLs of the step that failed first and of the
    call that waits, ``failures`` the number that failed; ``reason`` is why it ended, unless in the usual way.
    ``doubtful`` is the URL of the call whose process was lost, and about which somebody has to decide."""

    running: bool
    duration_ms: float | None
    error: str
    reason: str
    failure: str
    waiting: str
    failures: int
    doubtful: str = ""


def summary(turn: TurnSnapshot, row: TurnRow, marks: Landmarks | None = None) -> TurnSummary:
    """Build the summary; ``marks`` are the numbers of the steps to link to, unless ``turn`` has all its steps."""
    marks = marks or landmarks(turn)
    waits = marks.waiting is not None and row.status == "awaiting_input"
    return TurnSummary(
        running=row.status in LIVE and marks.doubtful is None,
        duration_ms=_duration_ms(row, marks),
        error=error_text(row.error),
        reason="" if row.error else _reason(row),
        failure=step_url(turn, marks.failed) if marks.failed is not None else "",
        waiting=step_url(turn, marks.waiting) if waits and marks.waiting is not None else "",
        failures=row.counts.errors,
        doubtful=step_url(turn, marks.doubtful) if marks.doubtful is not None else "",
    )


def landmarks(turn: TurnSnapshot) -> Landmarks:
    """Find the landmarks of a turn that has all its steps."""
    failed = next((step.number for step in turn.steps if step.status == "failed"), None)
    waiting = next((step for step in turn.steps if step.status == "awaiting_input"), None)
    total = turn.steps[-1].number + 1 if turn.steps else 0
    return Landmarks(total, failed, waiting.number if waiting else None, waiting.started_at if waiting else None)


def _reason(row: TurnRow) -> str:
    """Return why a turn ended, to add to its status: ``cancelled``, ``by local``."""
    stop_reason = row.stop_reason or ""
    if stop_reason in _NORMAL_REASONS:
        return ""
    return gettext(_REASONS[stop_reason]) if stop_reason in _REASONS else stop_reason.removeprefix(row.status).strip()


def _duration_ms(row: TurnRow, marks: Landmarks) -> float | None:
    """Return the turn's duration without waits: in all, so far, or until it began to wait."""
    if row.duration_ms is not None and row.status not in LIVE:
        return row.duration_ms
    until = marks.doubtful_since if row.status in LIVE else marks.waiting_since
    if until is None and row.status not in LIVE:
        return None
    return max(((until or ids.now_us()) - row.started_at) / 1000 - (row.waited_ms or 0), 0.0)


def turn_url(turn: TurnSnapshot) -> str:
    return at(f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/")


def step_url(turn: TurnSnapshot, number: int) -> str:
    """Return the URL of a step in the reader, on the page of the turn that has it."""
    return f"{turn_url(turn)}{window_query(number // PAGE_STEPS * PAGE_STEPS)}#step-{number}"


def window_query(start: int) -> str:
    return f"?from={start}" if start else ""


def error_text(error: ErrorInfo | None) -> str:
    """``openai 504: it took too long``."""
    if error is None:
        return ""
    message = error.message or error.type
    source = " ".join(str(part) for part in (error.provider, error.upstream_status) if part)
    return message if not source or (error.provider or "") in message else f"{source}: {message}"
