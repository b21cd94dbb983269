"""Moments of senders that do not write nanoseconds: ISO 8601 text, and numbers since 1970 in any unit."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from agents.base.timestamps import to_us
from agents.telemetry.reading.sanitize import timestamp_ns

_LONGEST = 40


def nanoseconds(value: object) -> int:
    """Since 1970, within 63 bits; 0 of what is no moment. Text without a time zone is UTC."""
    if isinstance(value, str):
        return _of_text(value) if len(value) <= _LONGEST else 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return _of_number(value)


def _of_text(value: str) -> int:
    try:
        found = datetime.fromisoformat(value)
        aware = found if found.tzinfo else found.replace(tzinfo=UTC)
        return timestamp_ns(to_us(aware) * 1000)
    except (ValueError, OverflowError):
        return 0


def _of_number(value: float) -> int:
    """The unit is told by the size: seconds until the year 5138, then milli-, micro- and nanoseconds."""
    if isinstance(value, int) and value.bit_length() > 63:  # too large for a float, perhaps
        return timestamp_ns(value)
    if not math.isfinite(value) or value <= 0:
        return 0
    for bound, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)):
        if value < bound:
            whole = int(value)
            return timestamp_ns(whole * factor + round((value - whole) * factor))
    return timestamp_ns(value)
