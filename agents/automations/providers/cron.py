"""Cron expressions of five fields in a time zone: minute, hour, day of the month, month, day of the week.

A field is ``*``, a number, a range ``a-b``, a list of these by commas, each with a step ``/n`` where there is a range;
months and days of the week have names too (``jan``, ``mon``), and Sunday is 0 and 7. Where neither the day of the month
nor that of the week is ``*`` one of the two is enough, as cron has it.

Where clocks are set forward, a time that is left out comes as much later. Where they are set back, a time that occurs
twice counts once, the first time; with ``*`` for the hour both count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MAX_YEARS = 9
"""How far ahead the next time may lie: the 29th of February is rarest, with eight years at the end of a century."""
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6}
_MONTHS |= {"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
_WEEKDAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_PART = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field: its name, the least and the greatest of its numbers, the names of some."""

    name: str
    least: int
    greatest: int
    names: Mapping[str, int]


_FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of the month", 1, 31, {}),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A parsed expression. ``weekdays`` count from Sunday, 0. With ``either_day`` one of the two days is enough, with
    ``every_hour`` times that a clock shows twice count twice."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    every_hour: bool

    def has(self, day: date) -> bool:
        """Tell whether there are times on a day."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week


def parse(expression: str) -> CronSchedule:
    """Parse an expression. Raises ValueError, which says what is wrong with it."""
    fields = expression.split()
    if len(fields) != len(_FIELDS):
        raise ValueError("it must have five fields: minute, hour, day of the month, month, day of the week")
    minutes, hours, days, months, weekdays = (
        _numbers(field, word) for field, word in zip(_FIELDS, fields, strict=True)
    )
    schedule = CronSchedule(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(number % 7 for number in weekdays),
        either_day="*" not in (fields[2][0], fields[4][0]),
        every_hour=fields[1][0] == "*",
    )
    if not schedule.either_day and not _any_day(schedule):
        raise ValueError("there is no such day in any year")
    return schedule


def _any_day(schedule: CronSchedule) -> bool:
    longest = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return any(min(schedule.days) <= longest[month - 1] for month in schedule.months)


def _numbers(field: _Field, word: str) -> frozenset[int]:
    numbers: set[int] = set()
    for part in word.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"the {field.name} cannot be read: '{part[:40]}'")
        first, last, step = match["first"], match["last"], match["step"]
        if first == "*":
            if last is not None:
                raise ValueError(f"the {field.name} cannot be read: '{part[:40]}'")
            low, high = field.least, field.greatest
        else:
            low = _number(field, first)
            high = _number(field, last) if last is not None else low
        if step is not None and (int(step[:5]) < 1 or (first != "*" and last is None)):
            raise ValueError(f"the {field.name} cannot be read: a step needs a range before it, and is at least 1")
        if low > high:
            raise ValueError(f"the {field.name} cannot be read: '{part[:40]}' ends before it begins")
        numbers.update(range(low, high + 1, int(step[:5]) if step else 1))
    return frozenset(numbers)


def _number(field: _Field, word: str) -> int:
    number = field.names.get(word.lower())
    if number is None and word.isdecimal() and len(word) < 4:
        number = int(word)
    if number is None or not field.least <= number <= field.greatest:
        raise ValueError(f"the {field.name} is from {field.least} to {field.greatest}, not '{word[:40]}'")
    return number


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone of a name (``Europe/Berlin``, ``UTC``). Raises ValueError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone '{name[:80]}'") from None


def next_after(schedule: CronSchedule, zone: ZoneInfo, after_us: int) -> int | None:
    """Return the first time of a schedule after a moment, in microseconds since 1970; None where there is none within
    `MAX_YEARS`."""
    after = datetime.fromtimestamp(after_us // 1_000_000, UTC)
    begin = after.astimezone(zone).date() - timedelta(days=1)
    best: datetime | None = None
    for offset in range(MAX_YEARS * 366):
        day = begin + timedelta(days=offset)
        if best is not None and day > best.astimezone(zone).date() + timedelta(days=1):
            break  # what was left out of an earlier day may come after times of the next
        if not schedule.has(day):
            continue
        moment = _first(schedule, zone, day, after)
        if moment is not None and (best is None or moment < best):
            best = moment
    return None if best is None else int(best.timestamp()) * 1_000_000


def _first(schedule: CronSchedule, zone: ZoneInfo, day: date, after: datetime) -> datetime | None:
    """Return the first moment of a day after another moment."""
    best: datetime | None = None
    for hour in schedule.hours:
        begin, end = _moments(zone, day, hour, 0), _moments(zone, day, hour, 59)
        if end[-1] <= after:
            continue
        is_even = len(begin) == len(end) == 1 and end[0] - begin[0] == timedelta(minutes=59)
        is_last = best is not None  # what was left out of an hour may come after times of the next, and of no later one
        for minute in schedule.minutes:
            moments = _moments(zone, day, hour, minute)
            for moment in moments if schedule.every_hour else moments[:1]:
                if moment > after and (best is None or moment < best):
                    best = moment
            if is_even and best is not None and moments[0] >= best:
                break  # no clock is changed in this hour: those of later minutes are later
        if is_last:
            break
    return best


def _moments(zone: ZoneInfo, day: date, hour: int, minute: int) -> list[datetime]:
    """Return when a clock shows a time: twice where it is set back over it; where it is left out, as much later."""
    local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
    first, second = local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)
    return [first, second] if second > first else [first]
