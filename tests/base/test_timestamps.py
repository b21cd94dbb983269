"""Microseconds and datetimes say the same moment, in any zone and on both sides of 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agents.base.schemas.wire import Timestamp
from agents.base.timestamps import to_datetime, to_us, us_or_none

ANY = st.datetimes(timezones=st.sampled_from([UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Pacific/Apia")]))
READ = TypeAdapter(Timestamp)


@given(ANY)
def test_a_moment_comes_back_to_the_microsecond(moment: datetime) -> None:
    assert to_datetime(to_us(moment)) == moment.astimezone(UTC)


def test_the_hour_that_comes_twice_is_two_moments() -> None:
    first = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    assert to_us(first.replace(fold=1)) - to_us(first) == 3_600_000_000


def test_what_has_not_come_yet_has_no_moment() -> None:
    assert us_or_none(None) is None
    assert us_or_none(to_datetime(5)) == 5


@given(st.integers(0, 7_000_000_000_000_000))
def test_a_body_is_read_back_to_the_microsecond(at_us: int) -> None:
    assert READ.validate_json(READ.dump_json(at_us)) == at_us


@pytest.mark.parametrize(
    "text",
    ["2026-11-20T10:00:00", "2026-11-20T10:00:00Z", "2026-11-20T11:00:00+01:00"],
)
def test_a_text_without_a_zone_is_utc(text: str) -> None:
    assert READ.validate_python(text) == to_us(datetime(2026, 11, 20, 10, tzinfo=UTC))
