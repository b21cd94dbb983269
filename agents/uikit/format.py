"""Format numbers and times for people: functions of values and of the reader's language
(`locale_formats`; the examples below are English). No settings, no clock.

``static/uikit/time.js`` formats the same way in the browser; times are UTC until it has made them local.
"""

from __future__ import annotations

import re
from datetime import datetime

from agents.base.timestamps import to_datetime
from agents.uikit import locale_formats

NOTHING = "–"
"""Shown where there is no value; an unknown cost is not a cost of 0."""

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60, 3_600, 86_400


def duration(ms: float | None) -> str:
    """Milliseconds as ``440 ms``, ``1.9 s``, ``2 m 05 s``, ``3 h 07 m``, ``2 d 04 h``."""
    return NOTHING if ms is None else locale_formats.number(_duration(ms))


def scale_duration(ms: float | None) -> str:
    """A duration on a chart's axis: ``1 s`` rather than ``1.0 s``, ``2 m`` rather than ``2 m 00 s``."""
    if ms is None:
        return NOTHING
    full = _duration(ms)
    return locale_formats.number(full.replace(".0 s", " s").replace(" m 00 s", " m").replace(" h 00 m", " h"))


def _duration(ms: float) -> str:
    if ms < 1:
        return "<1 ms" if ms > 0 else "0 ms"
    if ms < _SECOND - 0.5:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / _SECOND:.1f} s"
    return _long(round(ms / _SECOND))


def _long(seconds: int) -> str:
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} m {seconds % _MINUTE:02} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE:02} m"
    return f"{seconds // _DAY:,} d {seconds % _DAY // _HOUR:02} h"


def count(number: int | None) -> str:
    """``1,204`` in full up to a million, then ``4.2 M``, ``1.3 B``."""
    if number is None:
        return NOTHING
    for power, size in enumerate((1_000_000_000, 1_000_000)):
        if number >= size:
            return locale_formats.large(_floor_tenth(number, size), power)
    return integer(number)


def integer(number: int) -> str:
    """``1,204,367``, with every digit."""
    return locale_formats.number(f"{number:,}")


def decimal(number: float, places: int) -> str:
    """``0.83``, with so many decimal places."""
    return locale_formats.number(f"{number:,.{places}f}")


def _floor_tenth(number: int, size: int) -> str:
    """Cut, not rounded: 999,999,999 must not read as 1000.0 M."""
    tenths = number * 10 // size
    return f"{tenths // 10:,}.{tenths % 10}"


def cost(usd: float | None) -> str:
    """``$0.011`` below a dollar, ``$9.81`` above; ``<$0.001`` for less, and nothing at all as ``$0``."""
    if usd is None:
        return NOTHING
    if usd <= 0:
        return locale_formats.dollars("0")
    if usd < 0.001:
        return f"<{locale_formats.dollars('0.001')}"
    return locale_formats.dollars(f"{usd:.3f}" if usd < 0.9995 else f"{usd:,.2f}")


def dollars(usd: float, places: int) -> str:
    """``$0.50``, with so many decimal places whatever the amount."""
    return locale_formats.dollars(f"{usd:,.{places}f}")


def percent(part: int, total: int) -> str:
    """``2.1 %``; a few of very many are ``<0.1 %`` and all but a few ``>99.9 %``, never 0 or 100."""
    if total <= 0:
        return NOTHING
    return locale_formats.number(_percent(100 * part / total))


def _percent(share: float) -> str:
    if 0 < share < 0.1:
        return "<0.1 %"
    if 99.9 < share < 100:
        return ">99.9 %"
    return f"{share:.1f} %".replace(".0 %", " %")


def iso(at_us: int) -> str:
    """Microseconds since 1970 for ``datetime=``: ISO-8601 in UTC, to the millisecond."""
    timestamp = to_datetime(at_us)
    return f"{timestamp:%Y-%m-%dT%H:%M:%S}.{timestamp.microsecond // 1000:03}Z"


def clock(at_us: int) -> str:
    """``14:32:07``, in UTC."""
    return f"{to_datetime(at_us):%H:%M:%S}"


def day(at_us: int) -> str:
    """``20 Nov``, in UTC."""
    return locale_formats.day(to_datetime(at_us))


def date_time(at_us: int) -> str:
    """``20 Nov 2026, 14:32:07``, in UTC."""
    return f"{date(to_datetime(at_us))}, {clock(at_us)}"


def date(at: datetime) -> str:
    """``20 Nov 2026``, in the time zone of ``at``."""
    return f"{locale_formats.day(at)} {at.year}"


_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_CODE = re.compile(r"`{1,3}([^`]+)`{1,3}")
_HEADING = re.compile(r"(?:^|(?<=\s))#{1,6}\s+(?=\S)")


def without_markdown(markdown: str) -> str:
    """One line of an answer without the marks of bold, code and headings; the text itself stays."""
    return _BOLD.sub(r"\1", _CODE.sub(r"\1", _HEADING.sub("", markdown)))


def readable_name(name: str) -> str:
    """A name of the API for people: ``awaiting_input`` → awaiting input."""
    return name.replace("_", " ")


def capitalize(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]
