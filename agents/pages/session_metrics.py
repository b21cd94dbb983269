"""Metrics of a session for the header of its page: sums that link to their turns, and a bar for each turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.base.access import Actor
from agents.pages.periods import MetricsQuery
from agents.record.models.choices import TurnStatus
from agents.record.store import session_sums
from agents.record.store.session_sums import TurnDuration
from agents.record.store.sessions import SessionRecord
from agents.uikit import format
from agents.uikit.elements import status_label
from agents.uikit.links import at
from agents.uikit.templates import fragment

MAX_BARS = 120
"""The last turns, which get a bar each."""
HEIGHT, STEP, WIDTH, MIN_HEIGHT = 28, 8, 6, 3
"""Pixels: height of the tallest bar, distance from bar to bar, width of a bar, height of the smallest."""
_OUTCOMES = {
    TurnStatus.COMPLETED: "completed",
    TurnStatus.FAILED: "failed",
    TurnStatus.CANCELLED: "stopped",
    TurnStatus.INTERRUPTED: "stopped",
}


@dataclass(frozen=True, slots=True)
class TurnBar:
    outcome: str
    x: int
    y: float
    height: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class SessionFigure:
    """A number of a session with its link; ``bad`` marks a problem."""

    title: str
    text: str
    url: str
    bad: bool = False


def metrics(actor: Actor, session: SessionRecord) -> str:
    """Render the metrics of a session; without figures if it has no turns."""
    bars = turn_bars(session_sums.turn_durations(actor, session.key, MAX_BARS))
    return fragment(
        "pages/_session_metrics.html",
        figures=_figures(actor, session),
        bars=bars,
        width=len(bars) * STEP,
        label=_label(bars),
    )


def _figures(actor: Actor, session: SessionRecord) -> list[SessionFigure]:
    sums, query = session_sums.sums(actor, session.key), MetricsQuery(f"session:{session.public_id}")
    cost = None if sums.cost_nano is None else sums.cost_nano / 1e9
    figures = [
        SessionFigure(_("turns"), format.count(sums.turns), query.url),
        SessionFigure(_("failed"), format.count(sums.failed), query.also("status:failed").url, bad=sums.failed > 0),
        SessionFigure(_("duration"), format.duration(sums.duration_us / 1000), query.url),
        SessionFigure(_("tokens in"), format.count(sums.input_tokens), query.url),
        SessionFigure(_("tokens out"), format.count(sums.output_tokens), query.url),
        SessionFigure(_("cost"), format.cost(cost), query.also("has:cost").url),
    ]
    if sums.without_cost and cost is not None:
        figures.append(
            SessionFigure(_("turns without a cost"), format.count(sums.without_cost), query.also("-has:cost").url)
        )
    return figures if sums.turns else []


def turn_bars(lengths: Sequence[TurnDuration]) -> list[TurnBar]:
    """A bar for each turn, its height proportional to the duration."""
    maximum_us = max((length.duration_us or 0 for length in lengths), default=0) or 1
    return [_bar(index, length, maximum_us) for index, length in enumerate(lengths)]


def _bar(index: int, turn: TurnDuration, maximum_us: int) -> TurnBar:
    height = round(max(HEIGHT * (turn.duration_us or 0) / maximum_us, MIN_HEIGHT), 1)
    took = format.duration(None if turn.duration_us is None else turn.duration_us / 1000)
    values = {"number": turn.number + 1, "status": status_label(turn.status.label), "took": took}
    title = _("turn %(number)s: %(status)s, %(took)s") % values
    tokens = ngettext("%(count)s token", "%(count)s tokens", turn.tokens) % {"count": format.count(turn.tokens)}
    url = at(f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/")
    outcome = _OUTCOMES.get(turn.status, "live")
    return TurnBar(outcome, index * STEP, round(HEIGHT - height, 1), height, f"{title}, {tokens}", url)


def _label(bars: Sequence[TurnBar]) -> str:
    failed = sum(bar.outcome == "failed" for bar in bars)
    text = ngettext("How long %(count)s turn took", "How long %(count)s turns took", len(bars)) % {"count": len(bars)}
    return f"{text}, {failed} {_('failed')}" if failed else text
