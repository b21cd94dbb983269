"""Sanitizing of untrusted values: text that both databases store, numbers that fit, bounded depth and width.

A value may be of any type, as deep and as wide as its body is long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 32
"""Levels of lists and objects inside each other; deeper values become `TOO_DEEP`."""

MAX_ITEMS = 10_000
"""Entries of one list or object, and events of one span; the others are left out."""

MAX_ATTRIBUTES = 1000
"""Attributes of one span, event or resource; the others are counted as dropped."""

MAX_NAME_CHARS = 300
"""Characters of a name or an id that are stored."""

TOO_DEEP = "…"
"""Replaces a value that is nested too deeply."""

_MAX_INT64 = 2**63 - 1


def clean_text(value: str) -> str:
    """Replace NUL, which PostgreSQL refuses, and halves of surrogate pairs, which UTF-8 cannot encode."""
    if "\x00" in value:
        value = value.replace("\x00", "\ufffd")
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def clean_number(value: float) -> int | float | str | None:
    """Return a number that JSON and 64 bits can hold: None for infinities and NaN, larger integers as their digits."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if -_MAX_INT64 <= value <= _MAX_INT64:
        return value
    return str(value) if value.bit_length() <= 1024 else None


def dicts(value: object) -> list[dict[str, Any]]:
    """Return the objects in a list, at most `MAX_ITEMS`; [] of everything else."""
    return [item for item in value[:MAX_ITEMS] if isinstance(item, dict)] if isinstance(value, list) else []


def clean_json(value: object, depth: int = 0) -> Any:
    """Copy a sender's JSON within the bounds of this module."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return clean_number(value)
    if not isinstance(value, (dict, list)):
        return clean_text(repr(value))
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, list):
        return [clean_json(item, depth + 1) for item in value[:MAX_ITEMS]]
    return {clean_text(str(key)): clean_json(item, depth + 1) for key, item in first_items(value.items(), MAX_ITEMS)}


def first_items(items: Iterable[tuple[Any, Any]], count: int) -> list[tuple[Any, Any]]:
    """Return the first ``count`` items."""
    return [item for _, item in zip(range(count), items, strict=False)]


def clean_attributes(value: object) -> dict[str, Any]:
    """Return an object as attributes; anything else, and whatever is beyond the bound, is left out."""
    if not isinstance(value, dict):
        return {}
    return {clean_text(str(key)): clean_json(item, 1) for key, item in first_items(value.items(), MAX_ATTRIBUTES)}


def timestamp_ns(value: object) -> int:
    """Return nanoseconds since 1970 within 63 bits, of a number or its digits; 0 of anything else."""
    if isinstance(value, str) and len(value) <= 20 and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), _MAX_INT64)
