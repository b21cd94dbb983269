"""Converts timestamps: microseconds since 1970 wherever we store or compare them, aware datetimes where the
calendar or a library needs them. Integers both ways: a float would lose the last digits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_datetime(at_us: int) -> datetime:
    """Convert microseconds since 1970 to a UTC datetime. Raises OverflowError beyond the years 1 to 9999."""
    return _EPOCH + at_us * _MICROSECOND


def to_us(value: datetime) -> int:
    """Convert an aware datetime of any zone to microseconds since 1970."""
    return (value - _EPOCH) // _MICROSECOND


def us_or_none(value: datetime | None) -> int | None:
    """Convert like `to_us`, but None to None."""
    return None if value is None else to_us(value)
