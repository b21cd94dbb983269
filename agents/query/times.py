"""Read times: ``2026-11-20``, ``2026-11-20T10:00``, ``today``, ``yesterday``, ``-24h``, and ranges of them.

Every comparison becomes one half-open interval of microseconds. A day is all of it: ``>2026-11-20``
begins with the next midnight, ``..2026-11-20`` includes that day. A time of day is an instant,
except behind a plain colon, where ``T10:00`` is that minute. ``started:-24h`` means since then.
Days are those of the viewer's zone; a time may name another (``T10:00Z``, ``T10:00+01:00``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

from agents.base.errors import QuerySyntax
from agents.base.timestamps import to_datetime, to_us
from agents.query.fields import closest_name
from agents.query.scanner import Scalar, excerpt
from agents.query.tree import Op, Period

_RELATIVE = re.compile(r"-(\d{1,6})([smhdw])", re.IGNORECASE | re.ASCII)
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](.+))?", re.IGNORECASE | re.ASCII)
_CLOCK = re.compile(r"(\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)(Z|[+-]\d{2}:\d{2})?", re.IGNORECASE | re.ASCII)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS_AGO = {"today": 0, "yesterday": 1}
EXPECTED = "a time such as 2026-11-20, 2026-11-20T10:00, today, yesterday, -24h or -7d"


@dataclass(frozen=True, slots=True)
class Now:
    """The reference of relative times: microseconds since 1970, and the viewer's zone."""

    us: int
    zone: tzinfo

    @property
    def day(self) -> date:
        return to_datetime(self.us).astimezone(self.zone).date()


@dataclass(frozen=True, slots=True)
class _Point:
    """A time as written: ``from_us`` until ``to_us`` when compared, until ``through_us`` when it
    stands alone (None: until now and on). ``day`` and ``zone`` complete a later bare clock."""

    from_us: int
    to_us: int
    through_us: int | None
    day: date | None = None
    zone: tzinfo | None = None


def read_period(scalar: Scalar, op: Op, now: Now) -> Period:
    """Return the interval that ``op`` and the time mean. Raises QuerySyntax."""
    point = _point(scalar, scalar.value, now)
    low, high = {
        "=": (point.from_us, point.through_us),
        ">": (point.to_us, None),
        ">=": (point.from_us, None),
        "<": (None, point.from_us),
        "<=": (None, point.to_us),
    }[op]
    return Period(text=_normal_text(scalar.value), low_us=low, high_us=high)


def read_range(scalar: Scalar, now: Now) -> Period:
    """Read ``a..b``, ``a..`` or ``..b``; behind a day and time, ``..11:00`` is of the same day."""
    first, _, last = scalar.value.partition("..")
    if not first and not last:
        raise scalar.error("A range needs an end: -7d..-1d, 2026-11-20.. or ..yesterday")
    start = _point(scalar, first, now) if first else None
    end = _end(scalar, last, start, now) if last else None
    if start and end and start.from_us >= end.to_us:
        raise scalar.error("This range ends before it starts", better=f"{last}..{first}")
    return Period(
        text=_normal_text(scalar.value),
        low_us=start.from_us if start else None,
        high_us=end.to_us if end else None,
    )


def _end(scalar: Scalar, text: str, start: _Point | None, now: Now) -> _Point:
    clock = _CLOCK.fullmatch(text)
    if clock and start and start.day:
        return _instant(scalar, start.day, clock, start.zone or now.zone)
    return _point(scalar, text, now)


def _point(scalar: Scalar, text: str, now: Now) -> _Point:
    since, dated = _RELATIVE.fullmatch(text), _DATE.fullmatch(text)
    if since:
        return _relative(scalar, int(since[1]) * _SECONDS[since[2].lower()], now)
    if text.lower() in _DAYS_AGO:
        return _full_day(now.day - timedelta(days=_DAYS_AGO[text.lower()]), now.zone)
    if dated:
        day = _day(scalar, dated[1], utc=text.upper().endswith("Z"))
        clock = dated[2] and _CLOCK.fullmatch(dated[2])
        if clock:
            return _instant(scalar, day, clock, now.zone)
        if not dated[2]:
            return _full_day(day, now.zone)
    raise _not_a_time(scalar, text)


def _not_a_time(scalar: Scalar, text: str) -> QuerySyntax:
    better = f"-{text}" if _RELATIVE.fullmatch(f"-{text}") else closest_name(text, _DAYS_AGO)
    hint = f". Did you mean {better}?" if better else ""
    suggestion = None if better is None else scalar.value.replace(text, better)
    return scalar.error(f"{excerpt(text)} is not {EXPECTED}{hint}", better=suggestion)


def _relative(scalar: Scalar, seconds: int, now: Now) -> _Point:
    at_us = now.us - seconds * 1_000_000
    if at_us < 0:
        raise scalar.error(f"{excerpt(scalar.value)} is before 1970")
    return _Point(at_us, at_us + 1, None)


def _day(scalar: Scalar, text: str, *, utc: bool) -> date:
    """In UTC the range is a year wider at both ends, so that any day of any zone can be written in UTC."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise scalar.error(f"There is no day {text}") from None
    if not 1971 - utc <= day.year <= 2199 + utc:
        raise scalar.error("A day lies between 1971 and 2199")
    return day


def _full_day(day: date, zone: tzinfo) -> _Point:
    start, end = (to_us(datetime.combine(midnight, time(), zone)) for midnight in (day, day + timedelta(days=1)))
    return _Point(start, end, end, day, zone)


def _instant(scalar: Scalar, day: date, clock: re.Match[str], zone: tzinfo) -> _Point:
    try:
        clock_time = time.fromisoformat(clock[1])
        own = _zone(clock[4]) if clock[4] else zone
    except ValueError:
        raise scalar.error(f"There is no time {excerpt(clock[0])} of a day") from None
    at_us = to_us(datetime.combine(day, clock_time, own))
    precision_us = 1 if clock[3] else 1_000_000 if clock[2] else 60_000_000
    return _Point(at_us, at_us + 1, at_us + precision_us, day, own)


def _zone(text: str) -> tzinfo:
    if text.upper() == "Z":
        return UTC
    shift = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-shift if text[0] == "-" else shift)


def _normal_text(text: str) -> str:
    """``2026-11-20 10:00z`` → ``2026-11-20T10:00Z``; words and units in lower case."""
    ends = [end.upper().replace(" ", "T") if end[:1].isdecimal() else end.lower() for end in text.split("..")]
    return "..".join(ends)


def timestamp_text(at_us: int) -> str:
    """Write a timestamp for a query, in UTC: ``2026-11-20T10:00:00Z``, with a fraction where it has one."""
    time = to_datetime(at_us)
    fraction = f".{time.microsecond:06d}" if time.microsecond else ""
    return f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def period_text(period: Period) -> str:
    """Write a period in absolute times for the text behind a colon, operator included."""
    low, high = period.low_us, period.high_us
    if low is not None and high is not None:
        return f"{timestamp_text(low)}..{timestamp_text(high - 1)}"
    return f"<{timestamp_text(high)}" if low is None and high is not None else f">={timestamp_text(low or 0)}"
