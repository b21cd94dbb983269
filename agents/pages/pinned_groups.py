"""Lists in groups that somebody has pinned to their overview: each as a chart or as its largest groups, over the period
of the overview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, InvalidRequest
from agents.logs.pages.lists import LIST_OF_LEVEL
from agents.logs.schemas.numbers import Group
from agents.logs.store import numbers, pinned_groups
from agents.logs.store.pinned_groups import PinnedList
from agents.pages import groups
from agents.pages.groups import GroupedList
from agents.pages.periods import TimePeriod
from agents.query import parser
from agents.query.describe import describe
from agents.uikit.access import PageRequest, page
from agents.uikit.charts import Chart

MAX_ROWS = 6


@dataclass(frozen=True, slots=True)
class PinnedRow:
    """One of the largest groups: its labels, the list of its rows, the measure, the length of its bar in percent."""

    labels: Sequence[str]
    url: str
    amount: str
    share: float


@dataclass(frozen=True, slots=True)
class PinnedPart:
    """A pinned list on the overview: ``url`` leads to all its groups, ``unpin_url`` takes it off. Without a ``chart``
    it has ``rows``, of which there are ``more``; with an ``error`` neither."""

    title: str
    sentence: str
    measure: str
    url: str
    unpin_url: str
    chart: Chart | None = None
    rows: Sequence[PinnedRow] = ()
    more: int = 0
    error: str = ""


@page("run")
@require_POST
def pin(request: PageRequest) -> HttpResponse:
    """Pin the list in groups of the URL to the overview, or take it off with ``act=unpin``; ``from=overview`` leads
    back there."""
    chosen = groups.read_list(request)
    act = request.POST.get("act", "")
    if act == "pin":
        numbers.check_groups(chosen.query, chosen.by)
        pinned_groups.pin(request.actor, chosen.to_pin)
        messages.success(request, _("Pinned to your overview."))
    elif act == "unpin":
        pinned_groups.unpin(request.actor, chosen.to_pin)
        messages.success(request, _("Taken off your overview."))
    else:
        raise InvalidRequest("act: pin or unpin.", param="act")
    return redirect("home") if request.GET.get("from") == "overview" else redirect(chosen.url())


def parts(actor: Actor, pinned: Sequence[PinnedList], period: TimePeriod) -> list[PinnedPart]:
    """Count pinned lists over a period, each also within the times of its own query."""
    return [_part(actor, each, period) for each in pinned]


def _part(actor: Actor, pinned: PinnedList, period: TimePeriod) -> PinnedPart:
    query = parser.read(pinned.query, now_us=ids.now_us(), level=pinned.level)
    entire = GroupedList(LIST_OF_LEVEL[pinned.level], query, pinned.by, groups.measure_of(pinned.measure), period.zone)
    during = entire.base.during(period.low_us, period.high_us)
    chosen = GroupedList(entire.tab, during.query, pinned.by, groups.measure_of(pinned.measure), period.zone)
    part = PinnedPart(
        title=" · ".join(groups.field_title(name) for name in pinned.by),
        sentence=describe(query, language=translation) if query.text else _(LIST_OF_LEVEL[pinned.level].title),
        measure=_(chosen.measure.title),
        url=chosen.url(),
        unpin_url=entire.url("groups-pin", **{"from": "overview"}),
    )
    try:
        found = groups.measured(actor, chosen, MAX_ROWS)
    except AgentsError as error:
        return replace(part, error=error.message)
    chart = groups.chart_over_time(chosen, found.amounts)
    if chart:
        return replace(part, chart=chart)
    return replace(part, rows=_largest(chosen, found.groups.groups), more=found.groups.more)


def _largest(chosen: GroupedList, counted: Sequence[Group]) -> list[PinnedRow]:
    measure = chosen.measure
    return [
        PinnedRow(row.labels, row.url, measure.formatter(measure.amount(row.stats)), row.share)
        for row in groups.table_rows(chosen, counted)
    ]
