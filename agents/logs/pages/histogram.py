"""The rows of a list over time, as bars stacked by outcome; each leads to the list of its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from django.utils.translation import gettext, ngettext

from agents.base.errors import QuerySyntax
from agents.base.timestamps import to_datetime
from agents.logs.schemas.numbers import Bucket
from agents.query.chips import with_term
from agents.query.tree import Query
from agents.uikit import format

WIDTH, HEIGHT = 1000, 44
_GAP = 0.15
_OUTCOMES = ("completed", "live", "stopped", "failed")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a bar: ``outcome`` is its colour."""

    outcome: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """``low`` and ``high`` are its time as a query writes it, ``title`` what it says in words."""

    x: float
    width: float
    parts: tuple[Part, ...]
    title: str
    url: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """``first_us`` and ``last_us`` are its ends; ``label`` says in words what it shows."""

    bars: tuple[Bar, ...]
    label: str
    first_us: int
    last_us: int
    width: str


def drawn(
    buckets: Sequence[Bucket], width: str, query: Query, link: Callable[[str], str], zone: tzinfo
) -> Histogram | None:
    """The bars of these buckets; None where there are none to tell apart."""
    if len(buckets) < 2:
        return None
    most = max(map(_total, buckets)) or 1
    step = WIDTH / len(buckets)
    bars = tuple(_bar(bucket, number * step, step, most, query, link, zone) for number, bucket in enumerate(buckets))
    return Histogram(bars, _label(buckets), buckets[0].from_us, buckets[-1].to_us, _length(width))


def _total(bucket: Bucket) -> int:
    return bucket.completed + bucket.failed + bucket.stopped + bucket.live


def _bar(
    bucket: Bucket, x: float, step: float, most: int, query: Query, link: Callable[[str], str], zone: tzinfo
) -> Bar:
    low, high = _written(bucket.from_us), _written(bucket.to_us)
    return Bar(
        x=round(x, 2),
        width=round(step * (1 - _GAP), 2),
        parts=tuple(_parts(bucket, most)),
        title=_title(bucket, zone),
        url=_url(query, f"{low}..{high}", link) if _total(bucket) else "",
        low=low,
        high=high,
    )


def _parts(bucket: Bucket, most: int) -> list[Part]:
    """From the bottom up; what there is can be seen."""
    found, y = [], float(HEIGHT)
    for outcome in _OUTCOMES:
        count = getattr(bucket, outcome)
        if count:
            height = max(count / most * HEIGHT, 1.5)
            y -= height
            found.append(Part(outcome, round(max(y, 0), 2), round(height, 2)))
    return found


def _url(query: Query, period: str, link: Callable[[str], str]) -> str:
    try:
        return link(with_term(query.text, "started", period))
    except QuerySyntax:
        return ""


def _written(at_us: int) -> str:
    moment = to_datetime(at_us)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _title(bucket: Bucket, zone: tzinfo) -> str:
    start = to_datetime(bucket.from_us).astimezone(zone)
    words = {
        "completed": gettext("completed"),
        "failed": gettext("failed"),
        "stopped": gettext("cancelled or interrupted"),
        "live": gettext("running or waiting"),
    }
    counts = [f"{format.count(getattr(bucket, name))} {words[name]}" for name in words if getattr(bucket, name)]
    return f"{format.date(start)}, {start:%H:%M:%S}: {', '.join(counts) or gettext('none')}"


def _length(width: str) -> str:
    """How long a bar is, in the reader's language: from ``30 minutes``."""
    text, unit = width.split()
    n = int(text)
    words = {
        "second": ngettext("%(n)s second", "%(n)s seconds", n),
        "minute": ngettext("%(n)s minute", "%(n)s minutes", n),
        "hour": ngettext("%(n)s hour", "%(n)s hours", n),
        "day": ngettext("%(n)s day", "%(n)s days", n),
        "week": ngettext("%(n)s week", "%(n)s weeks", n),
        "month": ngettext("%(n)s month", "%(n)s months", n),
        "year": ngettext("%(n)s year", "%(n)s years", n),
    }
    return words[unit.removesuffix("s")] % {"n": n}


def _label(buckets: Sequence[Bucket]) -> str:
    total = sum(map(_total, buckets))
    failed = sum(bucket.failed for bucket in buckets)
    rows = ngettext("%(count)s row over time", "%(count)s rows over time", total) % {"count": format.count(total)}
    return f"{rows}, {format.count(failed)} {gettext('failed')}"
