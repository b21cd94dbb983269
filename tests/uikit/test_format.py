"""Numbers and moments as people read them: one table per kind."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.uikit import format


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, "–"),
        (0, "0 ms"),
        (0.4, "<1 ms"),
        (1, "1 ms"),
        (440.2, "440 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (1_900, "1.9 s"),
        (59_949, "59.9 s"),
        (59_950, "1 m 00 s"),
        (125_000, "2 m 05 s"),
        (3_599_400, "59 m 59 s"),
        (3_599_600, "1 h 00 m"),
        (11_220_000, "3 h 07 m"),
        (187_200_000, "2 d 04 h"),
    ],
)
def test_it_shows_a_duration(ms: float | None, shown: str) -> None:
    assert format.duration(ms) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (None, "–"),
        (0, "0"),
        (1_204, "1,204"),
        (999_999, "999,999"),
        (1_000_000, "1.0 M"),
        (4_249_999, "4.2 M"),
        (999_999_999, "999.9 M"),
        (1_300_000_000, "1.3 B"),
    ],
)
def test_it_shows_a_count(number: int | None, shown: str) -> None:
    assert format.count(number) == shown


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (None, "–"),
        (0.0, "$0"),
        (0.0004, "<$0.001"),
        (0.011, "$0.011"),
        (0.9994, "$0.999"),
        (0.9996, "$1.00"),
        (9.81, "$9.81"),
        (12_345.678, "$12,345.68"),
    ],
)
def test_it_shows_a_cost(usd: float | None, shown: str) -> None:
    assert format.cost(usd) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 0, "–"),
        (0, 7, "0 %"),
        (7, 7, "100 %"),
        (27, 1284, "2.1 %"),
        (1, 10_000, "<0.1 %"),
        (9_999, 10_000, ">99.9 %"),
        (1, 2, "50 %"),
    ],
)
def test_it_shows_a_share(part: int, whole: int, shown: str) -> None:
    assert format.percent(part, whole) == shown


def test_it_writes_moments_in_utc() -> None:
    at_us = 1_795_183_927_123_456
    assert format.iso(at_us) == "2026-11-20T14:12:07.123Z"
    assert (format.clock(at_us), format.day(at_us)) == ("14:12:07", "20 Nov")
    assert format.date_time(at_us) == "20 Nov 2026, 14:12:07"


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("It is **fine**.", "It is fine."),
        ("`get_weather` says: ```rain```", "get_weather says: rain"),
        ("## Result Two things", "Result Two things"),
        ("2 ** 3 ** 4 is a lot", "2 ** 3 ** 4 is a lot"),
        ("issue #12 and C# stay", "issue #12 and C# stay"),
    ],
)
def test_it_takes_the_marks_of_markdown_away(markdown: str, shown: str) -> None:
    assert format.without_markdown(markdown) == shown


@given(st.floats(min_value=0, max_value=1e13))
def test_it_never_shows_sixty_of_a_unit(ms: float) -> None:
    assert not re.search(r"\b(60 [sm]|60\.0 s|1000 ms|24 h)\b", format.duration(ms))
