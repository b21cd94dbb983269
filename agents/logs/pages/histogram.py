"""Draw the rows of a list over time, as bars stacked by outcome; each links to the list of its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from django.utils.translation import gettext, ngettext

from agents.base.errors import QuerySyntax
from agents.base.timestamps import to_datetime
from agents.logs.schemas.numbers import Bucket
from agents.query.chips import with_term
from agents.query.tree import FieldTerm, Period, Query
from agents.uikit import format

WIDTH, HEIGHT = 1000, 44
_GAP = 0.15
_OUTCOMES = ("failed", "stopped", "live", "completed")
"""From the bottom up: failures begin at the base, where few of them are seen beside many others."""


@dataclass(frozen=True, slots=True)
class BarSegment:
    """A segment of a bar; ``outcome`` determines its colour."""

    outcome: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """A bar; ``low`` and ``high`` are its interval as a query writes it, ``title`` its description."""

    x: float
    width: float
    parts: tuple[BarSegment, ...]
    title: str
    url: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class HistogramChart:
    """The chart; ``first_us`` and ``last_us`` are its ends, ``label`` describes it for screen readers, and its whole
    height stands for ``maximum`` rows."""

    bars: tuple[HistogramBar, ...]
    label: str
    first_us: int
    last_us: int
    width: str
    maximum: int


def chart(
    buckets: Sequence[Bucket], width: str, query: Query, link: Callable[[str], str], zone: tzinfo
) -> HistogramChart | None:
    """Draw the bars of these buckets; None for fewer than two."""
    if len(buckets) < 2:
        return None
    maximum = max(map(_total, buckets)) or 1
    step = WIDTH / len(buckets)

    def bar(number: int, bucket: Bucket) -> HistogramBar:
        low, high = _query_time(bucket.from_us), _query_time(bucket.to_us)
        return HistogramBar(
            x=round(number * step, 2),
            width=round(step * (1 - _GAP), 2),
            parts=tuple(_parts(bucket, maximum)),
            title=_title(bucket, zone),
            url=_url(query, bucket, link) if _total(bucket) else "",
            low=low,
            high=high,
        )

    bars = tuple(bar(number, bucket) for number, bucket in enumerate(buckets))
    return HistogramChart(bars, _label(buckets), buckets[0].from_us, buckets[-1].to_us, _length(width), maximum)


def _total(bucket: Bucket) -> int:
    return bucket.completed + bucket.failed + bucket.stopped + bucket.live


def _parts(bucket: Bucket, maximum: int) -> list[BarSegment]:
    """Stack the segments from the bottom up; each has a minimal height."""
    segments, y = [], float(HEIGHT)
    for outcome in _OUTCOMES:
        count = getattr(bucket, outcome)
        if count:
            height = max(count / maximum * HEIGHT, 1.5)
            y -= height
            segments.append(BarSegment(outcome, round(max(y, 0), 2), round(height, 2)))
    return segments


def _url(query: Query, bucket: Bucket, link: Callable[[str], str]) -> str:
    text = f"{_query_time(bucket.from_us)}..{_query_time(bucket.to_us)}"
    period = Period(text=text, low_us=bucket.from_us, high_us=bucket.to_us)
    try:
        return link(with_term(query, FieldTerm(field="started", op="..", value=period)).text)
    except QuerySyntax:
        return ""


def _query_time(at_us: int) -> str:
    time = to_datetime(at_us)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _title(bucket: Bucket, zone: tzinfo) -> str:
    start = to_datetime(bucket.from_us).astimezone(zone)
    labels = {
        "completed": gettext("completed"),
        "failed": gettext("failed"),
        "stopped": gettext("cancelled or interrupted"),
        "live": gettext("running or waiting"),
    }
    counts = [f"{format.count(getattr(bucket, name))} {labels[name]}" for name in labels if getattr(bucket, name)]
    return f"{format.date(start)}, {start:%H:%M:%S}: {', '.join(counts) or gettext('none')}"


def _length(width: str) -> str:
    """Translate the length of a bar's interval, such as ``30 minutes``."""
    text, unit = width.split()
    n = int(text)
    units = {
        "second": ngettext("%(n)s second", "%(n)s seconds", n),
        "minute": ngettext("%(n)s minute", "%(n)s minutes", n),
        "hour": ngettext("%(n)s hour", "%(n)s hours", n),
        "day": ngettext("%(n)s day", "%(n)s days", n),
        "week": ngettext("%(n)s week", "%(n)s weeks", n),
        "month": ngettext("%(n)s month", "%(n)s months", n),
        "year": ngettext("%(n)s year", "%(n)s years", n),
    }
    return units[unit.removesuffix("s")] % {"n": n}


def _label(buckets: Sequence[Bucket]) -> str:
    total = sum(map(_total, buckets))
    failed = sum(bucket.failed for bucket in buckets)
    rows = ngettext("%(count)s row over time", "%(count)s rows over time", total) % {"count": format.count(total)}
    return f"{rows}, {format.count(failed)} {gettext('failed')}"
