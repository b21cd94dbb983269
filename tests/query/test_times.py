"""Times as half-open intervals, in the viewer's zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from agents.base.errors import InvalidRequest, QuerySyntax
from agents.query.tree import FieldTerm, Period, Query


def us(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1_000_000)


def period(query: Query) -> Period:
    assert isinstance(query.tree, FieldTerm)
    assert isinstance(query.tree.value, Period)
    return query.tree.value


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2026-11-20", "2026-11-20T00:00Z", "2026-11-21T00:00Z"),
        ("today", "2026-11-20T00:00Z", "2026-11-21T00:00Z"),
        ("Yesterday", "2026-11-19T00:00Z", "2026-11-20T00:00Z"),
        (">2026-11-20", "2026-11-21T00:00Z", None),
        (">=2026-11-20", "2026-11-20T00:00Z", None),
        ("<today", None, "2026-11-20T00:00Z"),
        ("<=today", None, "2026-11-21T00:00Z"),
        ("-24h", "2026-11-19T12:00Z", None),
        (">=-7d", "2026-11-13T12:00Z", None),
        ("<-2W", None, "2026-11-06T12:00Z"),
        (">-30m", "2026-11-20T11:30:00.000001Z", None),
        ("2026-11-20T10:00", "2026-11-20T10:00Z", "2026-11-20T10:01Z"),
        ("2026-11-20T10:00:05", "2026-11-20T10:00:05Z", "2026-11-20T10:00:06Z"),
        ("2026-11-20T10:00:05.5", "2026-11-20T10:00:05.5Z", "2026-11-20T10:00:05.500001Z"),
        ('"2026-11-20 10:00"', "2026-11-20T10:00Z", "2026-11-20T10:01Z"),
        (">2026-11-20T10:00+02:00", "2026-11-20T08:00:00.000001Z", None),
        ("2026-11-20T10:00..11:00", "2026-11-20T10:00Z", "2026-11-20T11:00:00.000001Z"),
        ("2026-11-20T10:00-05:00..11:00", "2026-11-20T15:00Z", "2026-11-20T16:00:00.000001Z"),
        ("2026-11-18..2026-11-19", "2026-11-18T00:00Z", "2026-11-20T00:00Z"),
        ("-7d..yesterday", "2026-11-13T12:00Z", "2026-11-20T00:00Z"),
        ("2026-11-01..", "2026-11-01T00:00Z", None),
        ("..2026-11-01", None, "2026-11-02T00:00Z"),
    ],
)
def test_it_reads_an_interval(read: Callable[..., Query], text: str, low: str | None, high: str | None) -> None:
    found = period(read(f"started:{text}"))
    assert (found.low_us, found.high_us) == (low and us(low), high and us(high))


@pytest.mark.parametrize(
    ("zone", "text", "low", "high"),
    [
        ("Asia/Tokyo", "today", "2026-11-20T00:00+09:00", "2026-11-21T00:00+09:00"),
        ("Pacific/Kiritimati", "today", "2026-11-21T00:00+14:00", "2026-11-22T00:00+14:00"),
        ("Europe/Berlin", "2026-10-25", "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"),
        ("Europe/Berlin", "2026-11-20T10:00..11:00", "2026-11-20T09:00Z", "2026-11-20T10:00:00.000001Z"),
    ],
)
def test_days_are_those_of_the_zone(read: Callable[..., Query], zone: str, text: str, low: str, high: str) -> None:
    found = period(read(f"started:{text}", zone=zone))
    assert (found.low_us, found.high_us) == (us(low), us(high))


@pytest.mark.parametrize(
    ("text", "message", "suggestion"),
    [
        ("24h", "is not a time", "started:-24h"),
        ("yesterdy", "Did you mean yesterday", "started:yesterday"),
        ("2026-11-31", "no day", None),
        ("1812-01-01", "between 1971 and 2199", None),
        ("2026-11-20T25:00", "no time", None),
        ("2026-11-20T10:00+99:00", "no time", None),
        ("-999999w", "before 1970", None),
        ("today..-7d", "ends before", "started:-7d..today"),
        ("..", "needs an end", None),
        ("10:00..11:00", "is not a time", None),
        ("!=today", "cannot be compared", None),
    ],
)
def test_it_refuses_what_is_no_time(
    read: Callable[..., Query], text: str, message: str, suggestion: str | None
) -> None:
    with pytest.raises(QuerySyntax, match=message) as caught:
        read(f"started:{text}")
    assert caught.value.suggestion == suggestion


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../etc/passwd", "", "Europe", "/etc/localtime", "x" * 5_000, "a\x00b"]
)
def test_it_refuses_a_zone_that_is_none(read: Callable[..., Query], zone: str) -> None:
    with pytest.raises(InvalidRequest, match="time zone") as caught:
        read("", zone=zone)
    assert caught.value.param == "tz"
