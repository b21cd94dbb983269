"""What is going on now, and how a period went beside the one before.

What runs and waits comes with the page; what is counted comes behind it to a browser with
JavaScript, and with it to any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Unavailable
from agents.base.store import feed_cursor
from agents.logs.pages.lists import LOGS
from agents.logs.pages.numbers import zone_of
from agents.logs.schemas.numbers import Group
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, numbers, rows
from agents.pages import outliers, period_metrics, periods
from agents.pages.periods import Asked, Span
from agents.uikit.access import PageRequest, page

NOW = 5
"""Turns shown of those that run, and of those that wait."""
COUNTED = 1000
"""Turns that run or wait are counted up to here."""
ALL = Asked("")


@page("read")
def dashboard(request: PageRequest) -> HttpResponse:
    asked = _asked(request)
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = feed_cursor.newest(request.actor)
    later = "tz" in request.COOKIES
    shown = {
        "cursor": cursor,
        "periods": periods.choices("/", asked.span.name),
        "no_data": not listing.visible("turn", request.actor).exists(),
        "place": LOGS,
        "base_url": request.build_absolute_uri("/")[:-1],
        "needs_key": settings.REQUIRE_LOGIN,
        "now": _now(request.actor),
        "parts_url": f"/dashboard/?{urlencode({'period': asked.span.name, 'sort': asked.sort})}",
        "ready": not later,
        **({} if later else counted(request.actor, asked)),
    }
    return render(request, "pages/dashboard.html", shown)


@page("read")
def dashboard_parts(request: PageRequest) -> HttpResponse:
    """What changes on the page; with ``only=now`` but what runs and waits."""
    shown: dict[str, Any] = {"now": _now(request.actor), "ready": True}
    if request.GET.get("only") != "now":
        shown |= {"numbers": True, **counted(request.actor, _asked(request))}
    return render(request, "pages/_dashboard_parts.html", shown)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What the URL asks for."""

    span: Span
    sort: str


def _asked(request: PageRequest) -> _Choice:
    sort = request.GET.get("sort", "")
    span = periods.span(request.GET.get("period", ""), ZoneInfo(zone_of(request)))
    return _Choice(span, sort if sort in period_metrics.SORTS else "count")


# ----------------------------------------------------------------------------------------------- now


@dataclass(frozen=True, slots=True)
class Going:
    """Turns of a state, the newest of them, and the list of all."""

    title: str
    status: str
    total: int
    url: str
    rows: list[tuple[TurnRow, str, float]]
    none: str


def _now(actor: Actor) -> list[Going]:
    running = ALL.also("status:(queued OR in_progress)")
    waiting = ALL.also("status:awaiting_input")
    return [
        _going(actor, running, _("Running"), "in_progress", _("No turn is running.")),
        _going(actor, waiting, _("Waiting for an answer"), "awaiting_input", _("No turn waits for anyone.")),
    ]


def _going(actor: Actor, asked: Asked, title: str, status: str, none: str) -> Going:
    keys = listing.newest(actor, asked.query, COUNTED)
    now = ids.now_us()
    shown = [(row, outliers.turn_url(row), max(now - row.started_at, 0) / 1000) for row in rows.of("turn", keys[:NOW])]
    return Going(title, status, len(keys), asked.url, shown, none)


# -------------------------------------------------------------------------------------------- counted


def counted(actor: Actor, asked: _Choice) -> dict[str, Any]:
    """All numbers of the period; ``slow`` says that counting took too long."""
    try:
        return _counted(actor, asked)
    except Unavailable as error:
        return {"slow": error.message}


def _counted(actor: Actor, asked: _Choice) -> dict[str, Any]:
    span, before = asked.span, asked.span.before
    here, was = (ALL.during(each.low_us, each.high_us) for each in (span, before))
    models = numbers.groups(actor, here.query, ["model"]).groups
    now = numbers.stats(actor, here.query)
    return {
        "span": span,
        "here_url": here.url,
        "figures": period_metrics.figures(now, numbers.stats(actor, was.query), here, was),
        "charts": period_metrics.drawn(actor, ALL, span, models),
        "tables": _tables(actor, here, models, asked.sort),
        "sorts": _sorts(asked),
        "slowest": outliers.largest(actor, here, "duration"),
        "dearest": outliers.largest(actor, here, "cost"),
        "failures": outliers.failures(actor, here),
        "failed_url": here.also("status:failed").url,
    }


def _sorts(asked: _Choice) -> list[tuple[str, str, bool]]:
    """(words, URL, whether it is so) of each order of the tables."""
    return [
        (_(words), f"/?{urlencode({'period': asked.span.name, 'sort': name})}#tables", name == asked.sort)
        for name, (words, _amount) in period_metrics.SORTS.items()
    ]


def _tables(actor: Actor, here: Asked, models: Sequence[Group], sort: str) -> list[period_metrics.Table]:
    none = _("None in this time.")
    agents, users = (numbers.groups(actor, here.query, [name]).groups for name in ("agent", "user"))
    calls = Asked(f"type:tool {here.text}", "step")
    tools = numbers.groups(actor, calls.query, ["tool"]).groups
    named = [group for group in users if group.values[0]]
    return [
        period_metrics.table("agent", agents, here, sort, title=_("Agents"), none=none, absent=_("no agent")),
        period_metrics.table("model", models, here, sort, title=_("Models"), none=none, absent=_("no model")),
        period_metrics.table("tool", tools, calls, sort, title=_("Tools"), none=none, absent=_("no name")),
        period_metrics.table("user", named, here, sort, title=_("Users"), none=_("No user was named."), absent=""),
    ]
