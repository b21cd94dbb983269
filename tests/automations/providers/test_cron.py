"""Cron expressions: what can be read, and when they come, clocks that are set forward and back among it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.automations.providers import cron

MINUTE_US = 60_000_000
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns")


def us(text: str, zone: str = "UTC", fold: int = 0) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()) * 1_000_000


def times(expression: str, zone: str, after: str, count: int = 3) -> list[str]:
    """The next times of an expression, in UTC."""
    schedule, at, found = cron.parse(expression), us(after), []
    for _ in range(count):
        at = cron.next_after(schedule, ZoneInfo(zone), at) or 0
        found.append(datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", ["2026-11-27 10:01", "2026-11-27 10:02", "2026-11-27 10:03"]),
        ("*/15 * * * *", ["2026-11-27 10:15", "2026-11-27 10:30", "2026-11-27 10:45"]),
        ("0 9 * * mon-fri", ["2026-11-30 09:00", "2026-12-01 09:00", "2026-12-02 09:00"]),
        ("30 8,18 * * 7", ["2026-11-29 08:30", "2026-11-29 18:30", "2026-12-06 08:30"]),
        ("0 0 1 */3 *", ["2027-01-01 00:00", "2027-04-01 00:00", "2027-07-01 00:00"]),
        ("0 0 29 FEB *", ["2028-02-29 00:00", "2032-02-29 00:00", "2036-02-29 00:00"]),
        ("0 12 13 * fri", ["2026-11-27 12:00", "2026-12-04 12:00", "2026-12-11 12:00"]),
        ("10-30/10 23 31 12 *", ["2026-12-31 23:10", "2026-12-31 23:20", "2026-12-31 23:30"]),
    ],
)
def test_what_they_mean(expression: str, expected: list[str]) -> None:
    assert times(expression, "UTC", "2026-11-27 10:00") == expected


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("* * * * * *", "five fields"),
        ("@daily", "five fields"),
        ("60 * * * *", "the minute is from 0 to 59, not '60'"),
        ("* 24 * * *", "the hour is from 0 to 23"),
        ("* * 0 * *", "the day of the month is from 1 to 31"),
        ("* * * 13 *", "the month is from 1 to 12"),
        ("* * * * 8", "the day of the week is from 0 to 7"),
        ("* * * * mo", "the day of the week is from 0 to 7, not 'mo'"),
        ("mon * * * *", "the minute is from 0 to 59"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "a step needs a range"),
        ("5/2 * * * *", "a step needs a range"),
        ("*-5 * * * *", "cannot be read"),
        ("1,,2 * * * *", "cannot be read"),
        ("-1 * * * *", "cannot be read"),
        ("٣ * * * *", "cannot be read"),
        ("1.5 * * * *", "cannot be read"),
        ("0 0 30 2 *", "no such day"),
        ("0 0 31 4,6,9,11 *", "no such day"),
    ],
)
def test_what_cannot_be_read_is_said(wrong: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("'", ".")):
        cron.parse(wrong)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe", "UTC\0"])
def test_a_zone_that_there_is_not(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        cron.zone_of(name)


def test_a_time_that_is_left_out_comes_as_much_later() -> None:
    assert times("30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", 2) == ["2027-03-28 01:30", "2027-03-29 00:30"]
    hourly = times("30 * * * *", "Europe/Berlin", "2027-03-28 00:00", 3)
    assert hourly == ["2027-03-28 00:30", "2027-03-28 01:30", "2027-03-28 02:30"]


def test_a_time_that_is_left_out_may_come_after_later_ones() -> None:
    """Lord Howe's clocks are set forward by half an hour."""
    found = times("10,35 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", 3)
    assert found == ["2026-10-03 15:35", "2026-10-03 15:40", "2026-10-04 15:10"]


def test_a_time_that_occurs_twice_counts_once_and_every_hour_twice() -> None:
    assert times("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", 2) == ["2026-10-25 00:30", "2026-10-26 01:30"]
    hourly = times("30 * * * *", "Europe/Berlin", "2026-10-25 00:00", 3)
    assert hourly == ["2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"]


def test_a_day_that_a_country_has_left_out() -> None:
    assert times("0 12 * * *", "Pacific/Apia", "2011-12-29 00:00", 3) == [
        "2011-12-29 22:00",
        "2011-12-30 22:00",
        "2011-12-31 22:00",
    ]


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> str:
    """A field of an expression: anything, some numbers, or every so many."""
    kind = draw(st.sampled_from(["*", "list", "step", "range"]))
    if kind == "*":
        return "*"
    if kind == "step":
        return f"*/{draw(st.integers(1, high))}"
    if kind == "range":
        first = draw(st.integers(low, high))
        return f"{first}-{draw(st.integers(first, high))}"
    return ",".join(map(str, draw(st.lists(st.integers(low, high), min_size=1, max_size=4))))


TIMES = st.tuples(fields(0, 59), fields(0, 23)).map(" ".join)
MOMENTS = st.integers(us("2025-01-01"), us("2029-01-01"))
EDGES = st.sampled_from(
    [us("2027-03-28 00:50"), us("2026-10-25 00:50"), us("2026-11-01 05:50"), us("2026-04-04 14:50")]
)


@given(TIMES, st.sampled_from(ZONES), MOMENTS | EDGES)
@settings(max_examples=200, deadline=None)
def test_the_next_time_is_the_first_minute_that_matches(hours: str, zone: str, after: int) -> None:
    """Minute by minute, as cron itself looks; around changes of clocks the rule of the module says what differs."""
    schedule, where = cron.parse(f"{hours} * * *"), ZoneInfo(zone)
    found = cron.next_after(schedule, where, after)
    assert found is not None
    assert found > after
    assert found % MINUTE_US == 0
    at = datetime.fromtimestamp(after // MINUTE_US * 60, UTC) + timedelta(minutes=1)
    end = datetime.fromtimestamp(found // 1_000_000, UTC)
    shift = {(moment.astimezone(where)).utcoffset() for moment in (at - timedelta(days=2), end + timedelta(days=1))}
    if len(shift) == 1:  # no clock is changed
        while at < end:
            local = at.astimezone(where)
            assert not (local.minute in schedule.minutes and local.hour in schedule.hours)
            at += timedelta(minutes=1)
        local = end.astimezone(where)
        assert (local.minute in schedule.minutes, local.hour in schedule.hours) == (True, True)


@given(TIMES, st.sampled_from(ZONES), MOMENTS | EDGES)
@settings(max_examples=100, deadline=None)
def test_times_follow_each_other_and_are_the_same_from_wherever_one_looks(hours: str, zone: str, after: int) -> None:
    schedule, where = cron.parse(f"{hours} * * *"), ZoneInfo(zone)
    first = cron.next_after(schedule, where, after)
    assert first is not None
    second = cron.next_after(schedule, where, first)
    assert second is not None
    assert second > first
    between = (first + after) // 2
    assert cron.next_after(schedule, where, min(between, first - 1)) == first
    assert cron.next_after(schedule, where, second - 1) == second
    assert second - first <= 49 * 3600 * 1_000_000


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        schedule = cron.parse(text)
    except ValueError:
        return
    assert schedule.minutes
