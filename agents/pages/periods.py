"""The period of a dashboard, with the one before it, and the queries that its metrics count."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from urllib.parse import urlencode

from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.logs.pages.lists import LIST_OF_LEVEL
from agents.query import parser
from agents.query.times import period_text
from agents.query.tree import Level, Period, Query
from agents.query.writer import literal
from agents.uikit.links import url_for

_SECOND, _HOUR = 1_000_000, 3_600_000_000

LENGTHS = {
    "1h": (_HOUR, "minute", gettext_noop("Last hour")),
    "24h": (24 * _HOUR, "30 minutes", gettext_noop("24 hours")),
    "7d": (168 * _HOUR, "3 hours", gettext_noop("7 days")),
    "30d": (720 * _HOUR, "day", gettext_noop("30 days")),
}
"""By name in the URL: length in microseconds, length of a bar, label."""
DEFAULT = "24h"


@dataclass(frozen=True, slots=True)
class TimePeriod:
    """A period from ``low_us`` to just before ``high_us``; ``bar`` is the length of its bars as `numbers.groups`
    names it."""

    name: str
    low_us: int
    high_us: int
    bar: str
    zone: tzinfo

    @property
    def previous(self) -> TimePeriod:
        """The period of the same length just before."""
        return TimePeriod(self.name, 2 * self.low_us - self.high_us, self.low_us, self.bar, self.zone)

    @property
    def bars(self) -> list[tuple[int, int, int]]:
        """(where `numbers.groups` says that it begins, its beginning, its end) of each bar: together they
        are the span."""
        from agents.logs.store.numbers.dimensions import PERIODS, edges  # with numpy, when first counted

        bounds = edges(self.low_us, self.high_us, PERIODS[self.bar], self.zone)
        pairs = itertools.pairwise(bounds)
        bars = ((low, max(low, self.low_us), min(high, self.high_us)) for low, high in pairs)
        return [bar for bar in bars if bar[1] < bar[2]]


def time_period(name: str, zone: tzinfo) -> TimePeriod:
    """The last hour, day, week or month, up to the end of this second."""
    period_name = name if name in LENGTHS else DEFAULT
    length, bar, _ = LENGTHS[period_name]
    high = (ids.now_us() // _SECOND + 1) * _SECOND
    return TimePeriod(period_name, high - length, high, bar, zone)


def choices(path: str, current: str) -> list[tuple[str, str, bool]]:
    """(label, URL, whether it is the current one) of each period."""
    return [(gettext(label), f"{path}?period={name}", name == current) for name, (_, _, label) in LENGTHS.items()]


@dataclass(frozen=True, slots=True)
class MetricsQuery:
    """The query of a metric: its text, and the list it belongs to. Each method returns a narrower query."""

    text: str
    level: Level = "turn"

    def also(self, *conditions: str) -> MetricsQuery:
        return MetricsQuery(" ".join(filter(None, (self.text, *conditions))), self.level)

    def during(self, low_us: int, high_us: int) -> MetricsQuery:
        """Only rows that started in that time, written as absolute times so that the query keeps its meaning."""
        return self.also(f"started:{period_text(Period(text='', low_us=low_us, high_us=high_us))}")

    def where(self, field: str, value: str | None) -> MetricsQuery:
        """Only rows with this value of a field; None means rows without a value."""
        return self.also(f"-has:{field}" if value is None else f"{field}:={literal(value)}")

    def where_any(self, field: str, values: Sequence[str], *, negate: bool = False) -> MetricsQuery:
        """Only rows with one of these values of a field; with ``negate`` only rows with none of them."""
        chosen = " OR ".join(f"={literal(value)}" for value in values)
        return self.also(f"{'-' if negate else ''}{field}:({chosen})") if values else self

    @property
    def url(self) -> str:
        """The URL of the list of its rows."""
        return LIST_OF_LEVEL[self.level].link(self.text)

    def grouped_url(self, *fields: str) -> str:
        """The URL of its rows in groups by these fields."""
        return f"{url_for('log-groups')}?{urlencode({'level': self.level, 'q': self.text, 'by': ','.join(fields)})}"

    @property
    def query(self) -> Query:
        return parser.parse(self.text, now_us=ids.now_us(), level=self.level)
