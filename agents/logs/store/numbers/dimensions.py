"""What rows are told apart by: fields with the columns that hold them, and lengths of time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo

import numpy as np

from agents.base.timestamps import to_datetime, to_us
from agents.logs.store.numbers.columns import Array, Coded, coded
from agents.logs.store.numbers.table import Table

_OF_TURN = {
    "agent": "turn.agent_id",
    "source": "turn.source",
    "user": "turn.end_user_id",
    "key": "turn.actor_key",
    "provider": "turn.provider_id",
}
FACETS: Mapping[Table, Mapping[str, str]] = {
    "turn": {
        **_OF_TURN,
        "status": "turn.status",
        "model": "turn.model_id",
        "api": "turn.api",
        "error": "turn.error_type_id",
        "type": "turn.step_types",
        "tool": "turn.tools",
        "tag": "turn.terms",
    },
    "step": {
        **_OF_TURN,
        "status": "step.status",
        "type": "step.type",
        "kind": "step.kind_id",
        "tool": "step.tool_id",
        "model": "step.model_id",
        "error": "step.error_type_id",
        "api": "turn.api",
    },
    "response": {
        **_OF_TURN,
        "status": "response.status",
        "model": "response.model_id",
        "api": "response.api",
    },
    "session": {
        "agent": "session.agent_id",
        "status": "session.status",
        "api": "session.api",
        "source": "session.source",
    },
}
"""By table and field, the column a facet counts."""

SEVERAL = frozenset({"turn.tools", "turn.terms", "turn.step_types"})
"""Of which a turn may have more than one value, or none."""

GROUPS: Mapping[Table, Mapping[str, str]] = {
    table: {field: column for field, column in columns.items() if column not in SEVERAL}
    | ({} if table == "session" else {"session": "turn.session_id"})
    for table, columns in FACETS.items()
}
"""By table and field, the column that groups are made by; a row is in one group."""

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
"""Lengths of time that people count in, with their microseconds; about, of months and years."""
PERIODS = {name.removeprefix("1 "): name for name in WIDTHS if name.startswith("1 ") and name != "1 second"}
PERIODS |= {name: name for name in ("10 minutes", "30 minutes", "3 hours", "6 hours", "12 hours")}
"""What groups of time are called: ``hour``, ``30 minutes``, ``day``, …"""
MOST_EDGES = 100_000


def edges(low_us: int, high_us: int, width: str, zone: tzinfo) -> list[int]:
    """The bounds of intervals of this width that hold all from ``low_us`` up to before ``high_us``: the
    first is at or before ``low_us``, the last at or behind ``high_us``. Days begin in the zone."""
    if width in _FIXED:
        length = _FIXED[width]
        first = low_us // length * length
        return list(range(first, max(high_us, low_us + 1) + length, length))[:MOST_EDGES]
    start = _day_of(low_us, zone, width)
    out = [to_us(start)]
    while out[-1] < high_us or len(out) < 2:
        start = _next(start, width)
        out.append(to_us(start))
    return out


def _day_of(at_us: int, zone: tzinfo, width: str) -> datetime:
    """The beginning of the day, week, month or year that a moment lies in."""
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


def _next(start: datetime, width: str) -> datetime:
    match width:
        case "1 month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        case "1 year":
            return start.replace(year=start.year + 1)
        case _:
            return start + timedelta(days=7 if width == "1 week" else 1)


def periods(started: Array, width: str, zone: tzinfo) -> Coded:
    """For each moment the beginning of the interval it lies in."""
    if width in _FIXED:
        length = _FIXED[width]
        return coded(started // length * length)
    bounds = np.array(edges(int(started.min()), int(started.max()) + 1, width, zone), dtype=np.int64)
    return Coded(bounds, np.searchsorted(bounds, started, side="right") - 1)
