"""Timestamps of senders that do not write nanoseconds: ISO 8601 text, and numbers since 1970 in any unit."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from agents.base.timestamps import to_us
from agents.telemetry.reading.sanitize import timestamp_ns

_MAX_CHARS = 40


def nanoseconds(value: object) -> int:
    """Return nanoseconds since 1970, within 63 bits; 0 of what is no timestamp. Text without a time zone is UTC."""
    if isinstance(value, str):
        return _from_text(value) if len(value) <= _MAX_CHARS else 0
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return _from_number(value)


def _from_text(value: str) -> int:
    try:
        parsed = datetime.fromisoformat(value)
        with_zone = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
        return timestamp_ns(to_us(with_zone) * 1000)
    except (ValueError, OverflowError):
        return 0


def _from_number(value: float) -> int:
    """Detect the unit by the size: seconds until the year 5138, then milli-, micro- and nanoseconds."""
    if isinstance(value, int) and value.bit_length() > 63:  # too large for a float, perhaps
        return timestamp_ns(value)
    if not math.isfinite(value) or value <= 0:
        return 0
    for bound, factor in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)):
        if value < bound:
            units = int(value)
            return timestamp_ns(units * factor + round((value - units) * factor))
    return timestamp_ns(value)
