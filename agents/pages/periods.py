"""A period that numbers are shown of, fixed in time, with the one before it; and the queries they are of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from django.utils.translation import gettext, gettext_noop

from agents.base import ids
from agents.logs.pages.lists import LIST_OF_LEVEL
from agents.query import parser
from agents.query.times import period_text
from agents.query.tree import Level, Period, Query
from agents.query.writer import literal

_SECOND, _HOUR = 1_000_000, 3_600_000_000

LENGTHS = {
    "1h": (_HOUR, "minute", gettext_noop("Last hour")),
    "24h": (24 * _HOUR, "30 minutes", gettext_noop("24 hours")),
    "7d": (168 * _HOUR, "3 hours", gettext_noop("7 days")),
    "30d": (720 * _HOUR, "day", gettext_noop("30 days")),
}
"""By name in the URL: microseconds, the length of a bar, the words."""
USUAL = "24h"


@dataclass(frozen=True, slots=True)
class Span:
    """From ``low_us`` until before ``high_us``, in bars of a length of time as `numbers.groups` names it."""

    name: str
    low_us: int
    high_us: int
    bar: str
    zone: tzinfo

    @property
    def before(self) -> Span:
        """As much time, just before."""
        return Span(self.name, 2 * self.low_us - self.high_us, self.low_us, self.bar, self.zone)

    @property
    def bars(self) -> list[tuple[int, int, int]]:
        """(where `numbers.groups` says that it begins, its beginning, its end) of each bar: together they
        are the span."""
        from agents.logs.store.numbers.dimensions import PERIODS, edges  # with numpy, when first counted

        bounds = edges(self.low_us, self.high_us, PERIODS[self.bar], self.zone)
        pairs = itertools.pairwise(bounds)
        shown = ((low, max(low, self.low_us), min(high, self.high_us)) for low, high in pairs)
        return [each for each in shown if each[1] < each[2]]


def span(name: str, zone: tzinfo) -> Span:
    """The last hour, day, week or month, until the end of this second."""
    known = name if name in LENGTHS else USUAL
    length, bar, _ = LENGTHS[known]
    high = (ids.now_us() // _SECOND + 1) * _SECOND
    return Span(known, high - length, high, bar, zone)


def choices(path: str, here: str) -> list[tuple[str, str, bool]]:
    """(words, URL, whether it is this one) of each."""
    return [(gettext(words), f"{path}?period={name}", name == here) for name, (_, _, words) in LENGTHS.items()]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that numbers are of: its text, and the list it is of. What is added must hold too."""

    text: str
    level: Level = "turn"

    def also(self, *conditions: str) -> Asked:
        return Asked(" ".join(filter(None, (self.text, *conditions))), self.level)

    def during(self, low_us: int, high_us: int) -> Asked:
        """Of what began in that time; written out, so that it means the same tomorrow."""
        return self.also(f"started:{period_text(Period(text='', low_us=low_us, high_us=high_us))}")

    def of(self, field: str, value: str | None) -> Asked:
        """Of the rows that have this value, or none."""
        return self.also(f"-has:{field}" if value is None else f"{field}:={literal(value)}")

    def of_any(self, field: str, values: Sequence[str], *, but: bool = False) -> Asked:
        """Of the rows that have one of these values, or with ``but`` none of them."""
        chosen = " OR ".join(f"={literal(value)}" for value in values)
        return self.also(f"{'-' if but else ''}{field}:({chosen})") if values else self

    @property
    def url(self) -> str:
        """The list of its rows."""
        return LIST_OF_LEVEL[self.level].link(self.text)

    @property
    def query(self) -> Query:
        return parser.parse(self.text, now_us=ids.now_us(), level=self.level)
