"""A list in groups: what a query matches by one or two fields or lengths of time, as a table, a chart and CSV. Each
number leads to the list of its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, Unavailable
from agents.base.timestamps import to_datetime
from agents.logs.pages.lists import ListTab
from agents.logs.pages.numbers import tab_of, zone_of
from agents.logs.schemas.numbers import Group, GroupMeasure, Groups, Stats
from agents.logs.store import known_values, numbers, pinned_groups
from agents.logs.store.numbers import MeasuredGroups
from agents.logs.store.pinned_groups import PinnedList
from agents.logs.wire.export import group_table
from agents.pages.period_metrics import cost_label, count_label, duration_label
from agents.pages.periods import MetricsQuery
from agents.query import parser
from agents.query.chips import term_of
from agents.query.describe import describe
from agents.query.tree import Level, Or, Query, conjuncts
from agents.query.writer import with_path
from agents.uikit import charts, format
from agents.uikit.access import PageRequest, page
from agents.uikit.charts import Chart, Point, Series
from agents.uikit.elements import status_label, type_label
from agents.uikit.links import url_for
from agents.uikit.sources import source_label

if TYPE_CHECKING:
    from agents.logs.store.numbers.grouping import GroupAmount

FIELDS = {
    "agent": gettext_noop("Agent"),
    "model": gettext_noop("Model"),
    "tool": gettext_noop("Tool"),
    "user": gettext_noop("User"),
    "status": gettext_noop("Status"),
    "error": gettext_noop("Error"),
    "error.message": gettext_noop("Error message"),
    "tag": gettext_noop("Tag"),
    "env": gettext_noop("Environment"),
    "type": gettext_noop("Step"),
    "key": gettext_noop("API key"),
    "source": gettext_noop("Source"),
    "provider": gettext_noop("Provider"),
}
TIMES = {
    "hour": gettext_noop("Hour"),
    "day": gettext_noop("Day"),
    "week": gettext_noop("Week"),
    "month": gettext_noop("Month"),
}
USUAL: dict[Level, tuple[str, ...]] = {
    "turn": ("agent", "day"),
    "session": ("agent",),
    "step": ("tool",),
    "response": ("model", "day"),
}
MAX_GROUPS, MAX_ROWS, MAX_SERIES, MAX_POINTS = 10_000, 200, 5, 200
_LABELS: dict[str, Callable[[str], str]] = {"status": status_label, "type": type_label, "source": source_label}


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of each group that a chart shows and rows are sorted by. One that ``adds_up`` is stacked."""

    title: str
    amount: Callable[[Stats], float | None]
    formatter: Callable[[float | None], str]
    adds_up: bool = True


MEASURES: dict[GroupMeasure, Measure] = {
    "count": Measure(gettext_noop("Count"), lambda stats: float(stats.count), count_label),
    "failed": Measure(gettext_noop("Failed"), lambda stats: float(stats.failed), count_label),
    "tokens": Measure(gettext_noop("Tokens"), lambda stats: float(stats.tokens.total_tokens), count_label),
    "cost": Measure(gettext_noop("Cost"), lambda stats: stats.cost_usd, cost_label),
    "duration": Measure("p95", lambda stats: stats.duration_ms.p95, duration_label, adds_up=False),
}


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group in the table: the labels of its values, empty for none, and the lists of its rows. ``share`` is the
    length of its bar in percent."""

    labels: tuple[str, ...]
    url: str
    failed_url: str
    stats: Stats
    share: float


@dataclass(frozen=True, slots=True)
class GroupedList:
    """A list in groups: the list and its query, the names of fields and times, the measure, the reader's zone."""

    tab: ListTab
    query: Query
    by: tuple[str, ...]
    show: GroupMeasure
    zone: tzinfo

    @property
    def measure(self) -> Measure:
        return MEASURES[self.show]

    @property
    def time_at(self) -> int | None:
        """The place of the length of time among ``by``; None where there is none."""
        return next((number for number, name in enumerate(self.by) if name in TIMES), None)

    @property
    def base(self) -> MetricsQuery:
        text = self.query.text
        return MetricsQuery(f"({text})" if isinstance(self.query.tree, Or) else text, self.tab.level)

    @property
    def to_pin(self) -> PinnedList:
        return PinnedList(self.tab.level, self.query.text, self.by, self.show)

    def url(self, route: str = "log-groups", **changes: str) -> str:
        values = {"level": self.tab.level, "q": self.query.text, "by": ",".join(self.by), "show": self.show, **changes}
        return f"{url_for(route)}?{urlencode(values)}"


@page("read")
def grouped(request: PageRequest) -> HttpResponse:
    chosen = read_list(request)
    context = _form(chosen, _metadata(request.actor, chosen.tab)) | {
        "pin_url": chosen.url("groups-pin"),
        "is_pinned": chosen.to_pin in pinned_groups.listing(request.actor),
        "can_pin": "run" in request.actor.actions,
    }
    try:
        if request.GET.get("format") == "csv":
            return _csv(chosen, numbers.groups(request.actor, chosen.query, chosen.by, MAX_GROUPS, chosen.zone))
        found = measured(request.actor, chosen, MAX_ROWS)
    except Unavailable as error:
        return render(request, "pages/groups.html", context | {"slow": error.message}, status=503)
    context |= {
        "rows": table_rows(chosen, found.groups.groups),
        "more": found.groups.more,
        "overlaps": found.overlaps,
        "total": found.total,
        "failed_url": chosen.base.also("status:failed").url,
        "chart": chart_over_time(chosen, found.amounts),
    }
    return render(request, "pages/groups.html", context)


def measured(actor: Actor, chosen: GroupedList, limit: int) -> MeasuredGroups:
    """Count a list in groups. Raises as `numbers.groups`."""
    return numbers.measured_groups(actor, chosen.query, chosen.by, chosen.show, limit, chosen.zone)


def _csv(chosen: GroupedList, groups: Groups) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{chosen.tab.plural}-by-{"-".join(chosen.by)}.csv"'}
    return HttpResponse(group_table(groups), content_type="text/csv; charset=utf-8", headers=headers)


def read_list(request: PageRequest) -> GroupedList:
    """Read a list in groups from the URL. Raises InvalidRequest, QuerySyntax."""
    tab, zone = tab_of(request), zone_of(request)
    query = parser.read(request.GET.get("q", ""), now_us=ids.now_us(), zone=zone, level=tab.level)
    names = [name for text in request.GET.getlist("by") for name in text.split(",") if name]
    by = tuple(dict.fromkeys(names)) or _usual(query)
    return GroupedList(tab, query, by, measure_of(request.GET.get("show") or "count"), ZoneInfo(zone))


def measure_of(name: str) -> GroupMeasure:
    """Return the measure of this name. Raises InvalidRequest."""
    for measure in MEASURES:
        if measure == name:
            return measure
    raise InvalidRequest(f"show: say one of {', '.join(MEASURES)}.", param="show")


def _usual(query: Query) -> tuple[str, ...]:
    """Return what a list is grouped by where nothing is chosen: one of failures by their messages."""
    has_failed = term_of("status", "failed")
    if query.level in ("turn", "step") and has_failed in conjuncts(query.tree):
        return ("error.message",)
    return USUAL[query.level]


def _metadata(actor: Actor, tab: ListTab) -> set[str]:
    """Return the fields of the metadata that the newest turns have."""
    return {f"meta.{path}" for path, _value in known_values.pairs(actor, "meta")} if tab.level == "turn" else set()


def _form(chosen: GroupedList, metadata: Iterable[str]) -> dict[str, object]:
    from agents.logs.store.numbers.dimensions import GROUPS  # with numpy, when first counted

    fields = next(columns for table, columns in GROUPS.items() if table == chosen.tab.level)
    names = [name for name in (*FIELDS, *TIMES) if name in TIMES or name in fields]
    names += sorted({*metadata, *chosen.by}.difference(names))
    return {
        "place": chosen.tab,
        "text": chosen.query.text,
        "sentence": describe(chosen.query, language=translation),
        "list_url": chosen.tab.link(chosen.query.text),
        "by": [*chosen.by, ""][:2],
        "headings": [field_title(name) for name in chosen.by],
        "choices": [(name, field_title(name)) for name in names],
        "show": chosen.show,
        "measures": [(name, _(measure.title)) for name, measure in MEASURES.items()],
        "csv_url": chosen.url(format="csv"),
        "rows": (),
        "slow": "",
        "chart": None,
    }


def field_title(name: str) -> str:
    return _({**FIELDS, **TIMES}.get(name, name))


# --------------------------------------------------------------------------------------------- table


def table_rows(chosen: GroupedList, groups: Sequence[Group]) -> list[GroupRow]:
    """Return the groups as rows: the newest times first, then those with the most of the measure."""
    amounts = [chosen.measure.amount(group.stats) or 0 for group in groups]
    maximum = max(amounts, default=0)
    ordered = sorted(zip(groups, amounts, strict=True), key=lambda pair: (-(pair[0].from_us or 0), -pair[1]))
    return [_row(chosen, group, charts.bar_percent(amount, maximum)) for group, amount in ordered]


def _row(chosen: GroupedList, group: Group, share: float) -> GroupRow:
    query = chosen.base
    for name, value in zip(chosen.by, group.values, strict=True):
        if name in TIMES and group.from_us is not None:
            query = query.during(*_interval(name, group.from_us, chosen.zone))
        else:
            query = query.where(with_path(name), value or None)
    labels = tuple(_label(name, group, position, chosen.zone) for position, name in enumerate(chosen.by))
    return GroupRow(labels, query.url, query.also("status:failed").url, group.stats, share)


def _interval(name: str, from_us: int, zone: tzinfo) -> tuple[int, int]:
    from agents.logs.store.numbers.dimensions import PERIODS, edges  # with numpy, when first counted

    low, high, *_later = edges(from_us, from_us + 1, PERIODS[name], zone)
    return low, high


def _label(name: str, group: Group, position: int, zone: tzinfo) -> str:
    if name in TIMES and group.from_us is not None:
        start = to_datetime(group.from_us).astimezone(zone)
        return f"{format.date(start)}, {start:%H:%M}" if name == "hour" else format.date(start)
    return _value_label(name, group.values[position], group.labels[position])


def _value_label(name: str, value: str | None, label: str) -> str:
    return _LABELS[name](value) if value and name in _LABELS else label


# --------------------------------------------------------------------------------------------- chart


def chart_over_time(chosen: GroupedList, amounts: Sequence[GroupAmount]) -> Chart | None:
    """Draw the measure over time, with a series for each of the largest values of the other field; None where rows are
    not grouped by time, or over more of it than can be drawn."""
    if chosen.time_at is None or not amounts:
        return None
    from agents.logs.store.numbers.dimensions import PERIODS, edges  # with numpy, when first counted

    times = [group.from_us for group in amounts]
    starts = edges(min(times), max(times) + 1, PERIODS[chosen.by[chosen.time_at]], chosen.zone)[:-1]
    if len(starts) > MAX_POINTS:
        return None
    names, cells = _cells(chosen, amounts)
    keys = {key for key, _name in names}
    others: defaultdict[int, float] = defaultdict(float)
    if chosen.measure.adds_up:
        for (key, start), amount in cells.items():
            if key not in keys:
                others[start] += amount or 0
    series = [Series(f"series-{number}", name) for number, (_key, name) in enumerate(names, 1)]
    series += [Series("series-rest", _("others"))] if others else []
    points = []
    for start in starts:
        values = [cells.get((key, start)) for key, _name in names] + ([others[start]] if others else [])
        points.append(_point(chosen, start, values))
    draw = charts.bars if chosen.measure.adds_up else charts.lines
    label = _("%(measure)s over time") % {"measure": _(chosen.measure.title)}
    return draw(points, series, formatter=chosen.measure.formatter, label=label, zone=chosen.zone)


_Cells = dict[tuple[str, int], float | None]
"""The measure by value of the other field and beginning of the time."""


def _cells(chosen: GroupedList, amounts: Sequence[GroupAmount]) -> tuple[list[tuple[str, str]], _Cells]:
    """Return the values with the largest sums, each with its label, and the measure of all."""
    field = next((name for name in chosen.by if name not in TIMES), None)
    sums: defaultdict[str, float] = defaultdict(float)
    labels: dict[str, str] = {}
    cells: _Cells = {}
    for group in amounts:
        key = group.value or ""
        labels[key] = _value_label(field, group.value, group.label) if field else _(chosen.measure.title)
        sums[key] += group.amount or 0
        cells[key, group.from_us] = group.amount
    largest = sorted(sums, key=lambda key: -sums[key])[:MAX_SERIES]
    return [(key, labels[key] or _("none")) for key in largest], cells


def _point(chosen: GroupedList, start: int, values: Sequence[float | None]) -> Point:
    if chosen.measure.adds_up:
        values = [value or 0.0 for value in values]
    name = chosen.by[chosen.time_at or 0]
    return Point(start, tuple(values), chosen.base.during(*_interval(name, start, chosen.zone)).url)
