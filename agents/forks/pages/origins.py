"""Where a step of a fork has its outcome from, in words; and where a turn is forked from a step."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.forks.comparison.turns import origin_of
from agents.record.schemas import step_texts
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit.links import at

_LABELS = {
    "taken_over": gettext_noop("reused"),
    "recorded": gettext_noop("recorded result"),
    "edited": gettext_noop("changed result"),
    "live": gettext_noop("run: no recorded result matches"),
}


def label(step: StepSnapshot) -> str:
    """``taken over``; nothing of a step that was done here and now."""
    if not step.detail or b'"origin":' not in step.detail:
        return ""
    origin = origin_of(step_texts.detail_of(step))
    return label_of(origin.how) if origin else ""


def label_of(how: str) -> str:
    return _(_LABELS[how])


def fork_url(turn: TurnSnapshot, step: StepSnapshot) -> str:
    """Where a turn is forked from a step, once it is over or waits."""
    return at(f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/fork/?step={ids.public(ids.Kind.STEP, step.key)}")
