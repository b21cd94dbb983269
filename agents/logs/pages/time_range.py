"""The menu of a list's time range: lengths of time, any time, or a beginning and an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from django.utils.translation import gettext

from agents.base.timestamps import to_datetime
from agents.logs.pages.facets import FacetLink, Link, period_links
from agents.query.chips import conditions_on, without_field
from agents.query.tree import Period, Query


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The menu: ``label`` says what is chosen, ``any_time`` leads to the query without a range and is empty where it
    has none; ``low`` and ``high`` are the ends that are chosen, as a field of a form for local times holds them."""

    label: str
    periods: Sequence[FacetLink]
    any_time: str
    low: str
    high: str


def time_range(query: Query, link: Link, zone: tzinfo) -> TimeRange:
    """Build the menu for the list of a query."""
    periods = period_links(query, link)
    chosen = next((period.name for period in periods if period.state == "in"), "")
    terms = conditions_on(query, "started")
    any_time = link(without_field(query, "started").text) if terms else ""
    label = chosen or (gettext("chosen times") if terms else gettext("any time"))
    period = terms[0].value if len(terms) == 1 else None
    low, high = (period.low_us, period.high_us) if isinstance(period, Period) and not chosen else (None, None)
    return TimeRange(label, periods, any_time, _local(low, zone), _local(high, zone))


def _local(at_us: int | None, zone: tzinfo) -> str:
    return "" if at_us is None else f"{to_datetime(at_us).astimezone(zone):%Y-%m-%dT%H:%M}"
