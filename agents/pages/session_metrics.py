"""What a session comes to, in its head: sums that lead to their turns, and a small bar for each turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.base import ids
from agents.base.access import Actor
from agents.pages.periods import Asked
from agents.record.models.choices import TurnStatus
from agents.record.store import session_sums
from agents.record.store.session_sums import TurnDuration
from agents.record.store.sessions import SessionRecord
from agents.uikit import format
from agents.uikit.elements import status_label

BARS = 120
"""Turns that have a bar: the last ones."""
HEIGHT, STEP, WIDTH, LOWEST = 28, 8, 6, 3
"""Pixels: of the tallest bar, from bar to bar, of a bar, of the least."""
_OUTCOMES = {
    TurnStatus.COMPLETED: "completed",
    TurnStatus.FAILED: "failed",
    TurnStatus.CANCELLED: "stopped",
    TurnStatus.INTERRUPTED: "stopped",
}


@dataclass(frozen=True, slots=True)
class Bar:
    outcome: str
    x: int
    y: float
    height: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Figure:
    """``bad``: something is wrong with it."""

    title: str
    text: str
    url: str
    bad: bool = False


def metrics(actor: Actor, session: SessionRecord) -> str:
    """The part of the page, rendered; nothing for a session without turns."""
    bars = drawn(session_sums.turn_durations(actor, session.key, BARS))
    shown = {"figures": _figures(actor, session), "bars": bars, "width": len(bars) * STEP, "label": _label(bars)}
    return render_to_string("pages/_session_metrics.html", shown)


def _figures(actor: Actor, session: SessionRecord) -> list[Figure]:
    sums, here = session_sums.sums(actor, session.key), Asked(f"session:{session.public_id}")
    cost = None if sums.cost_nano is None else sums.cost_nano / 1e9
    found = [
        Figure(_("turns"), format.count(sums.turns), here.url),
        Figure(_("failed"), format.count(sums.failed), here.also("status:failed").url, bad=sums.failed > 0),
        Figure(_("duration"), format.duration(sums.duration_us / 1000), here.url),
        Figure(_("tokens in"), format.count(sums.input_tokens), here.url),
        Figure(_("tokens out"), format.count(sums.output_tokens), here.url),
        Figure(_("cost"), format.cost(cost), here.also("has:cost").url),
    ]
    if sums.without_cost and cost is not None:
        found.append(Figure(_("turns without a cost"), format.count(sums.without_cost), here.also("-has:cost").url))
    return found if sums.turns else []


def drawn(lengths: Sequence[TurnDuration]) -> list[Bar]:
    """As tall as a turn was long beside the longest."""
    most = max((each.duration_us or 0 for each in lengths), default=0) or 1
    return [_bar(place, each, most) for place, each in enumerate(lengths)]


def _bar(place: int, turn: TurnDuration, most: int) -> Bar:
    height = round(max(HEIGHT * (turn.duration_us or 0) / most, LOWEST), 1)
    took = format.duration(None if turn.duration_us is None else turn.duration_us / 1000)
    words = {"number": turn.number + 1, "status": status_label(turn.status.label), "took": took}
    title = _("turn %(number)s: %(status)s, %(took)s") % words
    tokens = ngettext("%(count)s token", "%(count)s tokens", turn.tokens) % {"count": format.count(turn.tokens)}
    url = f"/turns/{ids.public(ids.Kind.TURN, turn.key)}/"
    outcome = _OUTCOMES.get(turn.status, "live")
    return Bar(outcome, place * STEP, round(HEIGHT - height, 1), height, f"{title}, {tokens}", url)


def _label(bars: Sequence[Bar]) -> str:
    failed = sum(bar.outcome == "failed" for bar in bars)
    words = ngettext("How long %(count)s turn took", "How long %(count)s turns took", len(bars)) % {"count": len(bars)}
    return f"{words}, {failed} {_('failed')}" if failed else words
