"""Coercion of untrusted values: JSON inside text, numbers inside text, values of the wrong type.

No function here raises, whatever its argument is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from json import loads
from typing import Any

import msgspec

from agents.record.schemas.content import MAX_TOKENS
from agents.telemetry.reading.sanitize import clean_json

MAX_INT64 = 2**63 - 1
MAX_DOLLARS = 10_000
"""The highest plausible cost of one call; more is no price."""
_DECODE = msgspec.json.Decoder().decode


def json_of(value: Any) -> Any:
    """Parse a text that holds JSON, else return the value: senders put JSON into attributes that hold only text."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    if "\\u0000" in value:
        value = value.replace("\\u0000", "\\ufffd")
    try:
        return _DECODE(value)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return _parse_leniently(value)


def _parse_leniently(value: str) -> Any:
    """Parse with Python's own reader, which accepts halves of surrogate pairs and NaN."""
    try:
        return clean_json(loads(value))
    except (ValueError, RecursionError):
        return value


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, also one that is written as text; {} of everything else."""
    value = json_of(value)
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return a list, also one that is written as text; [] of everything else."""
    value = json_of(value)
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a text, or a number as text; '' of everything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value) if abs(value) <= MAX_INT64 else ""
    return ""


def text_or_json(value: Any) -> str:
    """Return a text as it is, and every other value as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return msgspec.json.encode(clean_json(value)).decode()
    except (ValueError, TypeError, RecursionError):
        return ""


def count(value: Any) -> int:
    """Return a number of tokens or the like, at most `MAX_TOKENS`; 0 of what is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 0), MAX_TOKENS)
    if isinstance(value, float) and math.isfinite(value):
        return min(max(int(value), 0), MAX_TOKENS)
    if isinstance(value, str) and len(value) <= 19 and value.isascii() and value.isdigit():
        return min(int(value), MAX_TOKENS)
    return 0


def finite_number(value: Any) -> float | None:
    """Return a finite number, also one written as text; None of everything else."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int) and abs(value) > MAX_INT64:
        return None
    return float(value) if math.isfinite(value) else None


def nano_dollars(value: Any) -> int | None:
    """Convert US dollars to billionths of a dollar; None of what is no price."""
    dollars = finite_number(value)
    if dollars is None or not 0 <= dollars <= MAX_DOLLARS:
        return None
    return round(dollars * 1e9)


def microseconds(value: Any, per: float) -> int | None:
    """Convert a duration to microseconds; its unit has ``per`` of them."""
    number = finite_number(value)
    return None if number is None or not 0 <= number * per <= MAX_INT64 else round(number * per)


def first_value(values: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first of these names that has one."""
    for name in names:
        value = values.get(name)
        if value is not None and value != "":
            return value
    return None


def first_text(values: Mapping[str, Any], *names: str) -> str:
    """Return the text of the first of these names that has one."""
    for name in names:
        value = values.get(name)
        if value:
            value = text(value)
            if value:
                return value
    return ""
