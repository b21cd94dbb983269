"""What a period's turns come to, as figures, charts and tables; every number leads to the list of the
rows it is of. For all turns, or for those of an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from agents.base.access import Actor
from agents.logs.schemas.numbers import Group, Stats
from agents.logs.store import numbers
from agents.pages.periods import Asked, Span
from agents.uikit import charts, format, locale_formats
from agents.uikit.charts import Chart, Point, Series

OUTCOMES = {
    "completed": (gettext_noop("completed"), "status:completed"),
    "live": (gettext_noop("live"), "is:live"),
    "stopped": (gettext_noop("stopped"), "status:(cancelled OR interrupted)"),
    "failed": (gettext_noop("failed"), "status:failed"),
}
"""From the bottom up: the words, and what a query says."""
MODELS = 5
"""Models that have a colour of their own."""
TOP = 6
"""Rows of a table."""
_NOTHING = Stats()


# ------------------------------------------------------------------------------------------- figures


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and what it was in the period before. ``change`` says by how much it differs."""

    title: str
    text: str
    url: str
    was: str
    was_url: str
    change: str
    bad: bool = False
    note: str = ""
    note_url: str = ""


_Text: TypeAlias = Callable[[Stats], str]
_Amount: TypeAlias = Callable[[Stats], float | None]


def figures(now: Stats, was: Stats, here: Asked, before: Asked) -> list[Figure]:
    """The numbers of a period beside those of the one before."""

    def figure(title: str, text: _Text, amount: _Amount, **more: Any) -> Figure:
        change = changed(amount(now), amount(was))
        return Figure(title, text(now), here.url, text(was), before.url, change, **more)

    def counted(title: str, amount: Callable[[Stats], int]) -> Figure:
        return figure(title, lambda each: format.count(amount(each)), amount)

    return [
        counted(_("turns"), lambda each: each.count),
        _failed(now, was, here, before),
        *(_percentile(name, now, was, here, before) for name in ("p50", "p95", "p99")),
        counted(_("tokens in"), lambda each: each.tokens.input_tokens),
        counted(_("tokens out"), lambda each: each.tokens.output_tokens),
        figure(
            _("cost"),
            lambda each: format.cost(each.cost_usd),
            lambda each: each.cost_usd,
            note=_("%(count)s without a cost") % {"count": format.count(now.cost_unknown)} if now.cost_unknown else "",
            note_url=here.also("-has:cost").url,
        ),
    ]


def _failed(now: Stats, was: Stats, here: Asked, before: Asked) -> Figure:
    return Figure(
        _("failed"),
        format.count(now.failed),
        here.also("status:failed").url,
        format.count(was.failed),
        before.also("status:failed").url,
        changed(now.failed, was.failed),
        bad=now.failed > 0,
        note=format.percent(now.failed, now.count),
    )


def _percentile(name: str, now: Stats, was: Stats, here: Asked, before: Asked) -> Figure:
    new, old = (getattr(each.duration_ms, name) for each in (now, was))
    return Figure(name, format.duration(new), here.url, format.duration(old), before.url, changed(new, old))


def changed(now: float | None, was: float | None) -> str:
    """``+12 %``; nothing where there was nothing to compare with."""
    if not was or now is None:
        return ""
    by = 100 * (now - was) / was
    if abs(by) < 0.5:
        return "±0 %"
    told = f"{by:+,.0f} %".replace("-", "−") if abs(by) < 1000 else f"×{now / was:,.0f}"
    return locale_formats.number(told)


# -------------------------------------------------------------------------------------------- charts


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart under its title; ``none`` are the words where there is nothing to see."""

    title: str
    chart: Chart
    none: str


def drawn(actor: Actor, base: Asked, span: Span, models: Sequence[Group]) -> list[Drawn]:
    """Volume, failures, durations, tokens and cost over a period."""
    over = _over_time(actor, base, span)
    return [
        Drawn(_("Turns by outcome"), _volume(over, span), _("No turn began in this time.")),
        Drawn(_("Failed, of all"), _failures(over, span), _("None failed in this time.")),
        Drawn(_("Duration"), _durations(over, span), _("No turn ended that began in this time.")),
        Drawn(_("Tokens"), _tokens(over, span), _("No tokens were read or written in this time.")),
        Drawn(_("Cost by model"), _costs(actor, over, base, span, models), _("No cost is known of this time.")),
    ]


Moment: TypeAlias = tuple[int, Asked, Stats]
"""The beginning of a bar, the query of its rows, and what they come to."""


def _over_time(actor: Actor, base: Asked, span: Span) -> list[Moment]:
    here = base.during(span.low_us, span.high_us)
    found = numbers.groups(actor, here.query, [span.bar], zone=span.zone)
    stats = {group.from_us: group.stats for group in found.groups}
    return [(low, base.during(low, high), stats.get(name, _NOTHING)) for name, low, high in span.bars]


def _volume(over: Sequence[Moment], span: Span) -> Chart:
    points = [
        Point(
            at,
            tuple(float(getattr(stats, name)) for name in OUTCOMES),
            here.url,
            tuple(here.also(query).url for _words, query in OUTCOMES.values()),
        )
        for at, here, stats in over
    ]
    total, failed = (sum(getattr(stats, name) for *_where, stats in over) for name in ("count", "failed"))
    label = _("Turns over time by outcome: %(total)s, of which %(failed)s failed") % {
        "total": format.count(total),
        "failed": format.count(failed),
    }
    series = [Series(name, _(words)) for name, (words, _query) in OUTCOMES.items()]
    return charts.bars(points, series, formatter=whole, label=label, zone=span.zone, min_step=1)


def _failures(over: Sequence[Moment], span: Span) -> Chart:
    points = [
        Point(at, (stats.failed / stats.count if stats.count else None,), here.also("status:failed").url)
        for at, here, stats in over
    ]
    label = _("Share of turns that failed, over time, at most %(most)s") % {"most": rate(_most(points))}
    return charts.lines(points, [Series("failed", _("failed"))], formatter=rate, label=label, zone=span.zone)


def _durations(over: Sequence[Moment], span: Span) -> Chart:
    points = [
        Point(at, (stats.duration_ms.p50, stats.duration_ms.p95, stats.duration_ms.p99), here.url)
        for at, here, stats in over
    ]
    label = _("Duration of turns over time: half of them, 95 and 99 percent within; at most %(most)s") % {
        "most": format.duration(_most(points))
    }
    series = [Series(name, name) for name in ("p50", "p95", "p99")]
    return charts.lines(points, series, formatter=length, label=label, zone=span.zone, steps=charts.DURATIONS)


def _tokens(over: Sequence[Moment], span: Span) -> Chart:
    points = [
        Point(at, (float(stats.tokens.input_tokens), float(stats.tokens.output_tokens)), here.url)
        for at, here, stats in over
    ]
    read, written = (sum(point.values[place] or 0 for point in points) for place in (0, 1))
    label = _("Tokens over time: %(read)s in, %(written)s out") % {"read": whole(read), "written": whole(written)}
    series = [Series("tokens-in", _("in")), Series("tokens-out", _("out"))]
    return charts.bars(points, series, formatter=whole, label=label, zone=span.zone, min_step=1)


def _costs(actor: Actor, over: Sequence[Moment], base: Asked, span: Span, models: Sequence[Group]) -> Chart:
    """By the models that cost most; what the others cost is the rest."""
    dearest = sorted((group for group in models if group.stats.cost_nano), key=lambda group: -group.stats.cost_nano)
    names = [value for group in dearest[:MODELS] if (value := group.values[0]) is not None]
    series = [Series(f"series-{place}", name) for place, name in enumerate(names, 1)]
    if len(dearest) > len(names):
        series.append(Series("series-rest", _("others")))
    spent = _spent(actor, base, span, names)
    points = [
        _cost_point(at, here, stats, names, [spent.get((name, start), 0) for name in names], len(series))
        for (at, here, stats), (start, _low, _high) in zip(over, span.bars, strict=True)
    ]
    label = _("Cost over time by model: %(total)s") % {
        "total": format.cost(sum(stats.cost_nano for _at, _here, stats in over) / 1e9)
    }
    return charts.bars(points, series, formatter=money, label=label, zone=span.zone)


def _cost_point(at: int, here: Asked, stats: Stats, names: Sequence[str], spent: list[int], size: int) -> Point:
    amounts = [*spent, stats.cost_nano - sum(spent)][:size]
    asked = [*(here.of("model", name) for name in names), here.of_any("model", names, but=True)][:size]
    return Point(at, tuple(nano / 1e9 for nano in amounts), here.url, tuple(each.url for each in asked))


def _spent(actor: Actor, base: Asked, span: Span, models: Sequence[str]) -> dict[tuple[str, int], int]:
    """Billionths of a dollar by model and the beginning of a bar."""
    if not models:
        return {}
    here = base.during(span.low_us, span.high_us).of_any("model", models)
    found = numbers.groups(actor, here.query, ["model", span.bar], zone=span.zone)
    return {
        (str(group.values[0]), group.from_us): group.stats.cost_nano
        for group in found.groups
        if group.from_us is not None
    }


def _most(points: Sequence[Point]) -> float:
    return max((value for point in points for value in point.values if value is not None), default=0.0)


def whole(number: float | None) -> str:
    return format.NOTHING if number is None else format.count(round(number))


def rate(share: float | None) -> str:
    return format.NOTHING if share is None else format.percent(round(share * 1_000_000), 1_000_000)


def length(ms: float | None) -> str:
    """Of a scale: ``1 s`` rather than ``1.0 s``."""
    return format.scale_duration(ms)


def money(usd: float | None) -> str:
    """``$0.50`` where there are no tenths of a cent, else as anywhere."""
    if usd is not None and usd >= 0.01 and round(usd * 1000) % 10 == 0:
        return format.dollars(usd, 2)
    return format.cost(usd)


# -------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a table: who or what, and its numbers. ``share`` is the length of its bar in percent."""

    label: str
    url: str
    page: str
    stats: Stats
    failed_url: str
    share: float


@dataclass(frozen=True, slots=True)
class Table:
    """``name`` tells which; ``more`` are the rows beyond those shown."""

    name: str
    title: str
    rows: tuple[Place, ...]
    more: int
    none: str


SORTS = {
    "count": (gettext_noop("count"), lambda stats: stats.count),
    "failed": (gettext_noop("failed"), lambda stats: stats.failed),
    "cost": (gettext_noop("cost"), lambda stats: stats.cost_nano),
    "duration": (gettext_noop("p95"), lambda stats: stats.duration_ms.p95 or 0),
}
"""What tables can be sorted by: the words, and the amount."""


def table(name: str, groups: Sequence[Group], here: Asked, sort: str, *, none: str, title: str, absent: str) -> Table:
    """The first groups of a field; rows without a value of it are ``absent``."""
    amount: Callable[[Stats], float] = SORTS[sort][1]
    ordered = sorted(groups, key=lambda group: (-amount(group.stats), -group.stats.count))
    most = max((amount(group.stats) for group in ordered), default=0)
    rows = tuple(_place(name, group, here, amount(group.stats), most, absent) for group in ordered[:TOP])
    return Table(name, title, rows, len(ordered) - len(rows), none)


def _place(name: str, group: Group, here: Asked, amount: float, most: float, absent: str) -> Place:
    own = here.of(name, group.values[0] or None)
    label = group.labels[0] or absent
    return Place(label, own.url, "", group.stats, own.also("status:failed").url, charts.bar_percent(amount, most))
