"""The dashboard: turns that run now, and the metrics of a period compared with the one before.

Turns that run or wait come with the page. A browser with JavaScript fetches the metrics afterwards; any
other gets them with the page.
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
from agents.logs.store import listing, numbers, pinned_groups, rows
from agents.logs.store.pinned_groups import PinnedList
from agents.pages import outliers, period_metrics, periods
from agents.pages.period_metrics import PeriodStats, TableLabels
from agents.pages.periods import MetricsQuery, TimePeriod
from agents.pages.pinned_groups import parts as pinned_parts
from agents.uikit.access import PageRequest, page
from agents.uikit.kept_numbers import come_later, kept_numbers, url_with_numbers
from agents.uikit.links import at, base_url
from agents.uikit.navigation import waiting_badge

MAX_LIVE_TURNS = 5
"""Turns shown of those that run, and of those that wait."""
MAX_COUNTED = 1000
"""Turns that run or wait are counted up to this number."""
ALL_TURNS = MetricsQuery("")


@page("read")
def dashboard(request: PageRequest) -> HttpResponse:
    params = _read_params(request)
    # read first: a change while the page is built is then sent again rather than missed
    cursor = feed_cursor.newest(request.actor)
    later = come_later(request, "dashboard")
    context = {
        "cursor": cursor,
        "periods": periods.choices(at("/"), params.period.name),
        "no_data": not listing.visible("turn", request.actor).exists(),
        "place": LOGS,
        "base_url": base_url(request),
        "needs_key": settings.REQUIRE_LOGIN,
        "now": _now(request.actor),
        "parts_url": at(f"/dashboard/?{urlencode({'period': params.period.name, 'sort': params.sort})}"),
        "ready": not later,
        **({"slow": "", "count_url": url_with_numbers(request)} if later else _kept_metrics(request, params)),
    }
    return render(request, "pages/dashboard.html", context)


@page("read")
def dashboard_parts(request: PageRequest) -> HttpResponse:
    """The parts of the page that change; with ``only=now`` just the turns that run or wait."""
    context: dict[str, Any] = {"now": _now(request.actor), "ready": True, "numbers": False}
    if request.GET.get("only") != "now":
        context |= {"numbers": True, **_kept_metrics(request, _read_params(request))}
    answer = render(request, "pages/_dashboard_parts.html", context)
    answer.write(waiting_badge(request.actor))
    return answer


@dataclass(frozen=True, slots=True)
class _DashboardParams:
    """The parameters of the URL."""

    period: TimePeriod
    sort: str


def _read_params(request: PageRequest) -> _DashboardParams:
    sort = request.GET.get("sort", "")
    period = periods.time_period(request.GET.get("period", ""), ZoneInfo(zone_of(request)))
    return _DashboardParams(period, sort if sort in period_metrics.SORTS else "count")


# ----------------------------------------------------------------------------------------------- now


@dataclass(frozen=True, slots=True)
class LiveTurns:
    """Turns that run or wait: their number, the newest of them, and the URL of their list."""

    title: str
    status: str
    total: int
    url: str
    rows: list[tuple[TurnRow, str, float]]
    none: str


def _now(actor: Actor) -> list[LiveTurns]:
    running = ALL_TURNS.also("status:(queued OR in_progress)")
    waiting = ALL_TURNS.also("status:awaiting_input")
    return [
        _live_turns(actor, running, _("Running"), "in_progress", _("No turn is running.")),
        _live_turns(actor, waiting, _("Waiting for an answer"), "awaiting_input", _("No turn is waiting.")),
    ]


def _live_turns(actor: Actor, query: MetricsQuery, title: str, status: str, none: str) -> LiveTurns:
    keys = listing.newest(actor, query.query, MAX_COUNTED)
    now = ids.now_us()
    visible = [
        (row, outliers.turn_url(row), max(now - row.started_at, 0) / 1000)
        for row in rows.of("turn", keys[:MAX_LIVE_TURNS])
    ]
    return LiveTurns(title, status, len(keys), query.url, visible, none)


# -------------------------------------------------------------------------------------------- counted


def _kept_metrics(request: PageRequest, params: _DashboardParams) -> dict[str, Any]:
    """All metrics, which may have been counted a while ago; the period is then that of this time."""
    pinned = pinned_groups.listing(request.actor)
    key = (params.period.name, params.sort, zone_of(request), *pinned)
    counted = kept_numbers.counted(
        request.actor, "dashboard", key, lambda: dashboard_metrics(request.actor, params, pinned)
    )
    return {**counted.numbers, "counted": counted}


def dashboard_metrics(actor: Actor, params: _DashboardParams, pinned: Sequence[PinnedList] = ()) -> dict[str, Any]:
    """All metrics of the period, with what the actor has pinned; only ``slow``, a message, if counting took too
    long."""
    try:
        return {**_dashboard_metrics(actor, params), "pinned": pinned_parts(actor, pinned, params.period)}
    except Unavailable as error:
        return {"slow": error.message}


def _dashboard_metrics(actor: Actor, params: _DashboardParams) -> dict[str, Any]:
    period = params.period
    current = ALL_TURNS.during(period.low_us, period.high_us)
    models = numbers.groups(actor, current.query, ["model"]).groups
    return {
        "slow": "",
        "period": period,
        "rows_url": current.url,
        "figures": period_metrics.figures(PeriodStats.count(actor, ALL_TURNS, period)),
        "charts": period_metrics.period_charts(actor, ALL_TURNS, period, models),
        "tables": _tables(actor, current, models, params.sort),
        "sorts": _sorts(params),
        "slowest": outliers.largest(actor, current, "duration"),
        "most_expensive": outliers.largest(actor, current, "cost"),
        "failures": outliers.failures(actor, current),
        "failed_url": current.also("status:failed").url,
        "messages_url": current.also("status:failed").grouped_url("error.message"),
    }


def _sorts(params: _DashboardParams) -> list[tuple[str, str, bool]]:
    """(label, URL, whether it is the current one) of each order of the tables."""
    return [
        (_(label), f"{at('/')}?{urlencode({'period': params.period.name, 'sort': name})}#tables", name == params.sort)
        for name, (label, _amount) in period_metrics.SORTS.items()
    ]


def _tables(actor: Actor, query: MetricsQuery, models: Sequence[Group], sort: str) -> list[period_metrics.TopTable]:
    none = _("None in this period.")
    agents, users = (numbers.groups(actor, query.query, [name]).groups for name in ("agent", "user"))
    calls = MetricsQuery(f"type:tool {query.text}", "step")
    tools = numbers.groups(actor, calls.query, ["tool"]).groups
    named = [group for group in users if group.values[0]]
    table = period_metrics.top_table
    return [
        table("agent", agents, query, sort, TableLabels(_("Agents"), none, _("no agent"))),
        table("model", models, query, sort, TableLabels(_("Models"), none, _("no model"))),
        table("tool", tools, calls, sort, TableLabels(_("Tools"), none, _("no name"))),
        table("user", named, query, sort, TableLabels(_("Users"), _("No user names were sent."), "")),
    ]
