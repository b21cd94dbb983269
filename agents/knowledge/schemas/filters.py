"""Filters of a file search: comparisons of attributes, joined by ``and`` and ``or``. A filter comes as JSON, is parsed
once, and `agents.knowledge.store.filter_sql` makes it a part of the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.errors import InvalidRequest

Scalar = str | int | float | bool

MAX_COMPARISONS, MAX_DEPTH = 500, 16
"""Comparisons of one filter, each value of a list counted as one, and how deep they may be nested."""

TYPES = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")


@dataclass(frozen=True, slots=True)
class AttributeComparison:
    """``value`` is a list for ``in`` and ``nin``."""

    type: str
    key: str
    value: Scalar | Sequence[Scalar]


@dataclass(frozen=True, slots=True)
class CompoundFilter:
    """``and`` of none holds, ``or`` of none does not."""

    type: str
    filters: Sequence[Filter]


Filter = AttributeComparison | CompoundFilter


def kind_of(value: object) -> str:
    """Return what a value may be compared with: ``truth``, ``number`` or ``text``; empty where it is none of them."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else ""


# --------------------------------------------------------------------------------------------- parsing


def parse(value: Any, where: str = "filters") -> Filter | None:
    """A filter from JSON; None for null and for an empty object. Raises InvalidRequest, naming the place
    below ``where``."""
    if value is None or value == {}:
        return None
    parsed = _parse(value, where, MAX_DEPTH)
    if _count(parsed) > MAX_COMPARISONS:
        raise _invalid(where, f"more than {MAX_COMPARISONS} comparisons.")
    return parsed


def _parse(value: Any, where: str, deeper: int) -> Filter:
    if not isinstance(value, Mapping):
        raise _invalid(where, "an object with a type is needed.")
    kind = value.get("type")
    if kind in ("and", "or"):
        return _compound(str(kind), value.get("filters"), where, deeper)
    if not isinstance(kind, str) or kind not in TYPES:
        raise _invalid(f"{where}.type", f"one of {', '.join(TYPES)}, and, or.")
    key = value.get("key")
    if not isinstance(key, str) or not key:
        raise _invalid(f"{where}.key", "the name of an attribute is needed.")
    return AttributeComparison(kind, key, _value(kind, value.get("value"), f"{where}.value"))


def _compound(kind: str, inner: Any, where: str, deeper: int) -> CompoundFilter:
    if not isinstance(inner, list):
        raise _invalid(f"{where}.filters", "a list of filters is needed.")
    if not deeper:
        raise _invalid(where, f"nested deeper than {MAX_DEPTH} levels.")
    if len(inner) > MAX_COMPARISONS:
        raise _invalid(where, f"more than {MAX_COMPARISONS} comparisons.")
    return CompoundFilter(
        kind, [_parse(nested, f"{where}.filters.{index}", deeper - 1) for index, nested in enumerate(inner)]
    )


def _value(kind: str, value: Any, where: str) -> Scalar | Sequence[Scalar]:
    if kind in ("in", "nin"):
        if not isinstance(value, list) or not all(kind_of(item) for item in value) or len(value) > MAX_COMPARISONS:
            raise _invalid(where, f"a list of at most {MAX_COMPARISONS} texts, numbers or booleans is needed.")
        return list(value)
    if not kind_of(value):
        raise _invalid(where, "a text, a number or a boolean is needed.")
    if kind not in ("eq", "ne") and isinstance(value, bool):
        raise _invalid(where, "a boolean is neither more nor less than another.")
    scalar: Scalar = value
    return scalar


def _count(parsed: Filter) -> int:
    if isinstance(parsed, CompoundFilter):
        return sum(map(_count, parsed.filters))
    return max(1, len(parsed.value)) if isinstance(parsed.value, list) else 1


def _invalid(where: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{where}: {message}", param=where)
