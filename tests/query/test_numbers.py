"""Amounts with units: read into the stored unit, written back in the shortest exact form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base.errors import QuerySyntax
from agents.query.numbers import number_text, read_number, read_numbers
from agents.query.scanner import Scalar
from agents.query.tree import Unit

UNITS: tuple[Unit, ...] = ("us", "nano_usd", "count", "bytes")


def scalar(text: str) -> Scalar:
    return Scalar(text, 0, len(text), (text,))


@pytest.mark.parametrize(
    ("text", "unit", "value", "written"),
    [
        ("250ms", "us", 250_000, "250ms"),
        ("2s", "us", 2_000_000, "2s"),
        ("2000MS", "us", 2_000_000, "2s"),
        ("1m", "us", 60_000_000, "1m"),
        ("90min", "us", 5_400_000_000, "1.5h"),
        ("1h", "us", 3_600_000_000, "1h"),
        ("1.234s", "us", 1_234_000, "1234ms"),
        ("0.5us", "us", 0.5, "0.5us"),
        ("7µs", "us", 7, "7us"),
        ("0s", "us", 0, "0us"),
        ("$0.05", "nano_usd", 50_000_000, "$0.05"),
        ("12", "nano_usd", 12_000_000_000, "$12"),
        ("1k", "count", 1_000, "1k"),
        ("1.5M", "count", 1_500_000, "1.5M"),
        ("1234", "count", 1_234, "1234"),
        ("10KB", "bytes", 10_000, "10KB"),
        ("10k", "bytes", 10_000, "10KB"),
        ("500", "bytes", 500, "500B"),
    ],
)
def test_it_reads_and_writes_amounts(text: str, unit: Unit, value: float, written: str) -> None:
    number = read_number(scalar(text), unit)
    assert (number.value, number.unit) == (value, unit)
    assert number_text(number.value, unit) == written


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("2", "us"),
        ("$2", "us"),
        ("2KB", "us"),
        ("2s", "count"),
        ("-1", "count"),
        ("1e5", "count"),
        ("", "count"),
        ("٣", "bytes"),
    ],
)
def test_it_refuses_what_is_no_amount_of_the_unit(text: str, unit: Unit) -> None:
    with pytest.raises(QuerySyntax, match="is not"):
        read_number(scalar(text), unit)


def test_it_refuses_amounts_no_column_holds() -> None:
    with pytest.raises(QuerySyntax, match="too large"):
        read_number(scalar("99999999999999999999"), "count")


def test_it_offers_seconds_where_the_unit_is_missing() -> None:
    with pytest.raises(QuerySyntax) as caught:
        read_numbers(scalar("1s..2"), "us")
    assert caught.value.suggestion == "1s..2s"


@pytest.mark.parametrize(("text", "ends"), [("1k..5k", (1_000, 5_000)), ("..2k", (None, 2_000)), ("3..", (3, None))])
def test_it_reads_ranges(text: str, ends: tuple[int | None, int | None]) -> None:
    numbers = read_numbers(scalar(text), "count")
    assert (numbers.low, numbers.high) == ends


@given(st.sampled_from(UNITS), st.integers(0, (1 << 63) - 1) | st.floats(1e-6, 1e15).map(lambda value: round(value, 6)))
def test_it_reads_back_exactly_what_it_wrote(unit: Unit, value: float) -> None:
    assert read_number(scalar(number_text(value, unit)), unit).value == value
