"""Define the dimensions that rows are grouped by: fields with their columns, and lengths of time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, tzinfo

import numpy as np

from agents.base.timestamps import to_datetime, to_us
from agents.logs.store.numbers.columns import Array, Coded, coded
from agents.logs.store.numbers.layouts import CHILDREN, LAYOUTS, Table
from agents.logs.store.numbers.listed_terms import META
from agents.query.tree import LEVELS
from agents.record.catalogue import CATALOGUE


def _facets(table: Table) -> dict[str, str]:
    """Return the columns of a table's facets by field. The rows below a turn have the turn's value of fields that
    are only of wider levels."""
    wider = LEVELS[: LEVELS.index(table)]
    columns = {}
    for entry in CATALOGUE.values():
        own = entry.counted.get(table) or entry.columns.get(table)
        if entry.facet and own:
            columns[entry.name] = f"{table}.{own}"
        elif entry.facet and table in CHILDREN and set(entry.levels) <= set(wider) and "turn" in entry.columns:
            columns[entry.name] = f"turn.{entry.columns['turn']}"
    return columns


FACETS: Mapping[Table, dict[str, str]] = {table: _facets(table) for table in LAYOUTS}
"""By table and field, the column a facet counts."""

GROUPS: Mapping[Table, dict[str, str]] = {
    table: {field: column for field, column in columns.items() if column != "turn.step_types"}
    | ({} if table == "session" else {"session": "turn.session_id"})
    for table, columns in FACETS.items()
}
"""By table and field, the column that groups are made by. A turn with several values of a field is in the group of
each."""


def facet_columns(table: Table, names: Iterable[str]) -> Mapping[str, str]:
    """Return the columns of a table's facets by field; values of the metadata, such as ``meta.plan``, are included
    where they are among these names."""
    return FACETS[table] | _metadata(table, names)


def group_columns(table: Table, names: Iterable[str]) -> Mapping[str, str]:
    """Return the columns that groups are made by, as `facet_columns` does."""
    return GROUPS[table] | _metadata(table, names)


def _metadata(table: Table, names: Iterable[str]) -> dict[str, str]:
    is_indexed = table == "turn"
    return {name: "turn.terms" for name in names if is_indexed and name.startswith(META) and name != META}


STARTED: Mapping[Table, str] = {
    "turn": "turn.started_at",
    "step": "step.started_at",
    "response": "response.created_at",
    "session": "session.created_at",
}

# ------------------------------------------------------------------------------------------------ time

_SECOND = 1_000_000
_FIXED = {
    f"{number} {unit}{'' if number == 1 else 's'}": number * length * _SECOND
    for unit, length, counts in (
        ("second", 1, (1, 5, 10, 15, 30)),
        ("minute", 60, (1, 5, 10, 15, 30)),
        ("hour", 3600, (1, 2, 3, 6, 12)),
    )
    for number in counts
}
_DAY_US = 86_400 * _SECOND
_CALENDAR = {"1 day": _DAY_US, "1 week": 7 * _DAY_US, "1 month": 30 * _DAY_US, "1 year": 365 * _DAY_US}
WIDTHS: Mapping[str, int] = _FIXED | _CALENDAR
"""Customary lengths of time in microseconds; approximate for months and years."""
PERIODS = {name.removeprefix("1 "): name for name in WIDTHS if name.startswith("1 ") and name != "1 second"}
PERIODS |= {name: name for name in ("10 minutes", "30 minutes", "3 hours", "6 hours", "12 hours")}
"""Names of groups of time, with their widths: ``hour``, ``30 minutes``, ``day``, …"""
MAX_EDGES = 100_000


def edges(low_us: int, high_us: int, width: str, zone: tzinfo) -> list[int]:
    """Return the bounds of intervals of this width that cover ``low_us`` up to before ``high_us``: the
    first is at or before ``low_us``, the last at or after ``high_us``. Days begin in the zone."""
    if width in _FIXED:
        length = _FIXED[width]
        first = low_us // length * length
        return list(range(first, max(high_us, low_us + 1) + length, length))[:MAX_EDGES]
    start = _period_start(low_us, zone, width)
    bounds = [to_us(start)]
    while bounds[-1] < high_us or len(bounds) < 2:
        start = _next_start(start, width)
        bounds.append(to_us(start))
    return bounds


def _period_start(at_us: int, zone: tzinfo, width: str) -> datetime:
    """Return the start of the day, week, month or year that a timestamp is in."""
    day = to_datetime(at_us).astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    match width:
        case "1 week":
            return day - timedelta(days=day.weekday())
        case "1 month":
            return day.replace(day=1)
        case "1 year":
            return day.replace(month=1, day=1)
        case _:
            return day


def _next_start(start: datetime, width: str) -> datetime:
    match width:
        case "1 month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        case "1 year":
            return start.replace(year=start.year + 1)
        case _:
            return start + timedelta(days=7 if width == "1 week" else 1)


def periods(started: Array, width: str, zone: tzinfo) -> Coded:
    """Return for each timestamp the start of its interval."""
    if width in _FIXED:
        length = _FIXED[width]
        return coded(started // length * length)
    bounds = np.array(edges(int(started.min()), int(started.max()) + 1, width, zone), dtype=np.int64)
    return Coded(bounds, np.searchsorted(bounds, started, side="right") - 1)
