"""Metrics of a period's turns as figures, charts and tables; every number links to the list of the rows it
counts. For all turns, or for those of an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base.access import Actor
from agents.logs.pages.lists import LIST_OF_LEVEL
from agents.logs.schemas.numbers import Group, Stats
from agents.logs.store import numbers
from agents.pages.periods import MetricsQuery, TimePeriod
from agents.uikit import charts, format, locale_formats
from agents.uikit.charts import Chart, Point, Series

OUTCOMES = {
    "completed": (gettext_noop("completed"), "status:completed"),
    "live": (gettext_noop("live"), "is:live"),
    "stopped": (gettext_noop("stopped"), "status:(cancelled OR interrupted)"),
    "failed": (gettext_noop("failed"), "status:failed"),
}
"""Label and query of each outcome, in the order of the stack from the bottom up."""
MAX_MODELS = 5
"""Models that get their own colour in a chart."""
MAX_ROWS = 6
"""Rows of a table."""
_NOTHING = Stats()


# ------------------------------------------------------------------------------------------- figures


@dataclass(frozen=True, slots=True)
class PeriodFigure:
    """A number of a period, and of the period before; ``change`` is the difference as text."""

    title: str
    text: str
    url: str
    previous_text: str
    previous_url: str
    change: str
    bad: bool = False
    note: str = ""
    note_url: str = ""


_Text: TypeAlias = Callable[[Stats], str]
_Amount: TypeAlias = Callable[[Stats], float | None]


@dataclass(frozen=True, slots=True)
class PeriodStats:
    """The statistics of the rows of a period, and of those of the one before, with their queries."""

    current: Stats
    previous: Stats
    query: MetricsQuery
    previous_query: MetricsQuery

    @classmethod
    def count(cls, actor: Actor, base: MetricsQuery, period: TimePeriod) -> PeriodStats:
        """Count the rows of a query. Raises Unavailable when it takes too long."""
        current, previous = (base.during(each.low_us, each.high_us) for each in (period, period.previous))
        return cls(numbers.stats(actor, current.query), numbers.stats(actor, previous.query), current, previous)

    def figure(self, title: str, text: _Text, amount: _Amount, where: str = "", **more: Any) -> PeriodFigure:
        """A figure that leads to its rows: to those under the condition ``where``, if there is one."""
        url, previous_url = (query.also(where).url for query in (self.query, self.previous_query))
        change = change_label(amount(self.current), amount(self.previous))
        return PeriodFigure(title, text(self.current), url, text(self.previous), previous_url, change, **more)

    def counted(self, title: str, amount: Callable[[Stats], int], where: str = "", **more: Any) -> PeriodFigure:
        return self.figure(title, lambda stats: format.count(amount(stats)), amount, where, **more)

    def failed(self) -> PeriodFigure:
        failed, note = self.current.failed, format.percent(self.current.failed, self.current.count)
        return self.counted(_("failed"), lambda stats: stats.failed, "status:failed", bad=failed > 0, note=note)

    def tokens(self) -> list[PeriodFigure]:
        return [
            self.counted(_("tokens in"), lambda stats: stats.tokens.input_tokens),
            self.counted(_("tokens out"), lambda stats: stats.tokens.output_tokens),
        ]

    def cost(self, **more: Any) -> PeriodFigure:
        return self.figure(_("cost"), lambda stats: format.cost(stats.cost_usd), lambda stats: stats.cost_usd, **more)


def figures(stats: PeriodStats) -> list[PeriodFigure]:
    """The figures of the turns of a period compared with those of the one before."""
    unknown = stats.current.cost_unknown
    note = _("%(count)s without a cost") % {"count": format.count(unknown)} if unknown else ""
    return [
        stats.counted(_("turns"), lambda each: each.count),
        stats.failed(),
        *(_percentile(name, stats) for name in ("p50", "p95", "p99")),
        *stats.tokens(),
        stats.cost(note=note, note_url=stats.query.also("-has:cost").url),
    ]


def figures_of_steps(stats: PeriodStats) -> list[PeriodFigure]:
    """The same of steps."""
    return [
        stats.counted(_("steps"), lambda each: each.count),
        stats.counted(_("tool calls"), lambda each: each.tools, "type:tool"),
        stats.failed(),
        *stats.tokens(),
        stats.cost(),
    ]


def _percentile(name: str, stats: PeriodStats) -> PeriodFigure:
    def amount(each: Stats) -> float | None:
        value: float | None = getattr(each.duration_ms, name)
        return value

    return stats.figure(name, lambda each: format.duration(amount(each)), amount)


def change_label(current: float | None, previous: float | None) -> str:
    """The change between two numbers as ``+12 %``; empty if there is nothing to compare with."""
    if not previous or current is None:
        return ""
    percent = 100 * (current - previous) / previous
    if abs(percent) < 0.5:
        return "±0 %"
    text = f"{percent:+,.0f} %".replace("-", "−") if abs(percent) < 1000 else f"×{current / previous:,.0f}"
    return locale_formats.number(text)


# -------------------------------------------------------------------------------------------- charts


@dataclass(frozen=True, slots=True)
class TitledChart:
    """A chart with its title; ``none`` is the text shown if there is nothing to plot."""

    title: str
    chart: Chart
    none: str


def period_charts(actor: Actor, base: MetricsQuery, period: TimePeriod, models: Sequence[Group]) -> list[TitledChart]:
    """Charts of volume, failures, durations, tokens and cost over a period."""
    bars = _stats_by_bar(actor, base, period)
    return [
        TitledChart(_("Turns by outcome"), _volume(bars, period), _("No turns in this period.")),
        TitledChart(_("Failure rate"), _failures(bars, period), _("No failures in this period.")),
        TitledChart(_("Duration"), _durations(bars, period), _("No finished turns in this period.")),
        TitledChart(_("Tokens"), _tokens(bars, period), _("No tokens used in this period.")),
        TitledChart(_("Cost by model"), _costs(actor, bars, base, period, models), _("No known cost in this period.")),
    ]


BarStats: TypeAlias = tuple[int, MetricsQuery, Stats]
"""The start of a bar in microseconds, the query of its rows, and their statistics."""


def _stats_by_bar(actor: Actor, base: MetricsQuery, period: TimePeriod) -> list[BarStats]:
    query = base.during(period.low_us, period.high_us)
    groups = numbers.groups(actor, query.query, [period.bar], zone=period.zone)
    stats = {group.from_us: group.stats for group in groups.groups}
    return [(low, base.during(low, high), stats.get(name, _NOTHING)) for name, low, high in period.bars]


def _until_now(points: list[Point]) -> list[Point]:
    """The points of a period that ends now: the last is not over."""
    return [*points[:-1], *(replace(point, is_open=True) for point in points[-1:])]


def _volume(bars: Sequence[BarStats], period: TimePeriod) -> Chart:
    points = [
        Point(
            at_us,
            tuple(float(getattr(stats, name)) for name in OUTCOMES),
            bar_query.url,
            tuple(bar_query.also(query).url for _title, query in OUTCOMES.values()),
        )
        for at_us, bar_query, stats in bars
    ]
    total, failed = (sum(getattr(stats, name) for *_where, stats in bars) for name in ("count", "failed"))
    label = _("Turns over time by outcome: %(total)s, of which %(failed)s failed") % {
        "total": format.count(total),
        "failed": format.count(failed),
    }
    series = [Series(name, _(title)) for name, (title, _query) in OUTCOMES.items()]
    return charts.bars(_until_now(points), series, formatter=count_label, label=label, zone=period.zone, min_step=1)


def _failures(bars: Sequence[BarStats], period: TimePeriod) -> Chart:
    points = [
        Point(at_us, (stats.failed / stats.count if stats.count else None,), bar_query.also("status:failed").url)
        for at_us, bar_query, stats in bars
    ]
    label = _("Share of turns that failed, over time, at most %(most)s") % {"most": rate_label(_maximum(points))}
    return charts.lines(
        _until_now(points), [Series("failed", _("failed"))], formatter=rate_label, label=label, zone=period.zone
    )


def _durations(bars: Sequence[BarStats], period: TimePeriod) -> Chart:
    points = [
        Point(at_us, (stats.duration_ms.p50, stats.duration_ms.p95, stats.duration_ms.p99), bar_query.url)
        for at_us, bar_query, stats in bars
    ]
    label = _("Duration of turns over time: p50, p95 and p99; at most %(most)s") % {
        "most": format.duration(_maximum(points))
    }
    series = [Series(name, name) for name in ("p50", "p95", "p99")]
    return charts.lines(
        _until_now(points), series, formatter=duration_label, label=label, zone=period.zone, steps=charts.DURATIONS
    )


def _tokens(bars: Sequence[BarStats], period: TimePeriod) -> Chart:
    points = [
        Point(at_us, (float(stats.tokens.input_tokens), float(stats.tokens.output_tokens)), bar_query.url)
        for at_us, bar_query, stats in bars
    ]
    read, written = (sum(point.values[index] or 0 for point in points) for index in (0, 1))
    label = _("Tokens over time: %(read)s in, %(written)s out") % {
        "read": count_label(read),
        "written": count_label(written),
    }
    series = [Series("tokens-in", _("in")), Series("tokens-out", _("out"))]
    return charts.bars(_until_now(points), series, formatter=count_label, label=label, zone=period.zone, min_step=1)


def _costs(
    actor: Actor, bars: Sequence[BarStats], base: MetricsQuery, period: TimePeriod, models: Sequence[Group]
) -> Chart:
    """A chart of cost by model; the less expensive ones are one series."""
    most_expensive = sorted(
        (group for group in models if group.stats.cost_nano), key=lambda group: -group.stats.cost_nano
    )
    names = [value for group in most_expensive[:MAX_MODELS] if (value := group.values[0]) is not None]
    series = [Series(f"series-{number}", name) for number, name in enumerate(names, 1)]
    if len(most_expensive) > len(names):
        series.append(Series("series-rest", _("others")))
    cost_by_model = _cost_by_model(actor, base, period, names)
    points = [
        _cost_point(
            at_us, bar_query, stats, names, [cost_by_model.get((name, start), 0) for name in names], len(series)
        )
        for (at_us, bar_query, stats), (start, _low, _high) in zip(bars, period.bars, strict=True)
    ]
    label = _("Cost over time by model: %(total)s") % {
        "total": format.cost(sum(stats.cost_nano for _at_us, _bar_query, stats in bars) / 1e9)
    }
    return charts.bars(_until_now(points), series, formatter=cost_label, label=label, zone=period.zone)


def _cost_point(
    at_us: int, bar_query: MetricsQuery, stats: Stats, names: Sequence[str], costs: list[int], size: int
) -> Point:
    amounts = [*costs, stats.cost_nano - sum(costs)][:size]
    queries = [*(bar_query.where("model", name) for name in names), bar_query.where_any("model", names, negate=True)][
        :size
    ]
    return Point(at_us, tuple(nano / 1e9 for nano in amounts), bar_query.url, tuple(query.url for query in queries))


def _cost_by_model(
    actor: Actor, base: MetricsQuery, period: TimePeriod, models: Sequence[str]
) -> dict[tuple[str, int], int]:
    """Cost in billionths of a dollar by model and start of a bar."""
    if not models:
        return {}
    query = base.during(period.low_us, period.high_us).where_any("model", models)
    groups = numbers.groups(actor, query.query, ["model", period.bar], zone=period.zone)
    return {
        (str(group.values[0]), group.from_us): group.stats.cost_nano
        for group in groups.groups
        if group.from_us is not None
    }


def _maximum(points: Sequence[Point]) -> float:
    return max((value for point in points for value in point.values if value is not None), default=0.0)


def count_label(number: float | None) -> str:
    return format.NOTHING if number is None else format.count(round(number))


def rate_label(share: float | None) -> str:
    return format.NOTHING if share is None else format.percent(round(share * 1_000_000), 1_000_000)


def duration_label(ms: float | None) -> str:
    """A tick's duration: ``1 s`` rather than ``1.0 s``."""
    return format.scale_duration(ms)


def cost_label(usd: float | None) -> str:
    """``$0.50`` if there are no tenths of a cent, else as `format.cost`."""
    if usd is not None and usd >= 0.01 and round(usd * 1000) % 10 == 0:
        return format.dollars(usd, 2)
    return format.cost(usd)


# -------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: a label and its statistics. ``share`` is the length of its bar in percent."""

    label: str
    url: str
    page: str
    stats: Stats
    failed_url: str
    share: float


@dataclass(frozen=True, slots=True)
class TopTable:
    """A table of the top values of the field ``name``; ``more`` counts the rows that are not shown, and ``all_url``
    leads to all of them."""

    name: str
    title: str
    rows: tuple[TableRow, ...]
    more: int
    none: str
    all_url: str


@dataclass(frozen=True, slots=True)
class TableLabels:
    """The texts of a table: its title, ``none`` for an empty one, ``absent`` for rows without a value."""

    title: str
    none: str
    absent: str


SORTS = {
    "count": (gettext_noop("count"), lambda stats: stats.count),
    "failed": (gettext_noop("failed"), lambda stats: stats.failed),
    "cost": (gettext_noop("cost"), lambda stats: stats.cost_nano),
    "duration": (gettext_noop("p95"), lambda stats: stats.duration_ms.p95 or 0),
}
"""Label and sort key of each order of the tables."""


def top_table(name: str, groups: Sequence[Group], query: MetricsQuery, sort: str, labels: TableLabels) -> TopTable:
    """The top groups of a field."""
    amount: Callable[[Stats], float] = SORTS[sort][1]
    ordered = sorted(groups, key=lambda group: (-amount(group.stats), -group.stats.count))
    maximum = max((amount(group.stats) for group in ordered), default=0)
    rows = tuple(
        _table_row(name, group, query, amount(group.stats), maximum, labels.absent) for group in ordered[:MAX_ROWS]
    )
    all_url = LIST_OF_LEVEL[query.level].values_link(name, query.text)
    return TopTable(name, labels.title, rows, len(ordered) - len(rows), labels.none, all_url)


def _table_row(name: str, group: Group, query: MetricsQuery, amount: float, maximum: float, absent: str) -> TableRow:
    row_query = query.where(name, group.values[0] or None)
    label = group.labels[0] or absent
    return TableRow(
        label, row_query.url, "", group.stats, row_query.also("status:failed").url, charts.bar_percent(amount, maximum)
    )
