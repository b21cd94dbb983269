"""Values of senders, read without trust: JSON inside text, numbers inside text, text that is none.

Nothing here raises, whatever it is given.
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
"""What one call may have cost: more is no price."""
_DECODE = msgspec.json.Decoder().decode


def json_of(value: Any) -> Any:
    """What a text holds as JSON, else the value itself: senders put JSON into attributes that hold only text."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    if "\\u0000" in value:
        value = value.replace("\\u0000", "\\ufffd")
    try:
        return _DECODE(value)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return _leniently(value)


def _leniently(value: str) -> Any:
    """Python's own reader takes halves of surrogate pairs and NaN."""
    try:
        return clean_json(loads(value))
    except (ValueError, RecursionError):
        return value


def mapping(value: Any) -> dict[str, Any]:
    """An object, also one that is written as text; {} of everything else."""
    value = json_of(value)
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """A list, also one that is written as text; [] of everything else."""
    value = json_of(value)
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """A text, or a number as one; '' of everything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value) if abs(value) <= MAX_INT64 else ""
    return ""


def text_or_json(value: Any) -> str:
    """A value as words: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return msgspec.json.encode(clean_json(value)).decode()
    except (ValueError, TypeError, RecursionError):
        return ""


def count(value: Any) -> int:
    """A number of tokens or the like, at most `MAX_TOKENS`; 0 of what is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 0), MAX_TOKENS)
    if isinstance(value, float) and math.isfinite(value):
        return min(max(int(value), 0), MAX_TOKENS)
    if isinstance(value, str) and len(value) <= 19 and value.isascii() and value.isdigit():
        return min(int(value), MAX_TOKENS)
    return 0


def finite_number(value: Any) -> float | None:
    """A finite number, also one written as text."""
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
    """US dollars as billionths of one, None of what is no price."""
    dollars = finite_number(value)
    if dollars is None or not 0 <= dollars <= MAX_DOLLARS:
        return None
    return round(dollars * 1e9)


def microseconds(value: Any, per: float) -> int | None:
    """A duration as microseconds, of which there are ``per`` in its unit."""
    found = finite_number(value)
    return None if found is None or not 0 <= found * per <= MAX_INT64 else round(found * per)


def first_value(values: Mapping[str, Any], *names: str) -> Any:
    """The value of the first of these names that has one."""
    for name in names:
        found = values.get(name)
        if found is not None and found != "":
            return found
    return None


def first_text(values: Mapping[str, Any], *names: str) -> str:
    """The same, of those that are text."""
    for name in names:
        found = values.get(name)
        if found:
            found = text(found)
            if found:
                return found
    return ""
