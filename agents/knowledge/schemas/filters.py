"""Filters of a file search: comparisons of a document's attributes, joined by ``and`` and ``or``.

A filter comes as JSON, is parsed once, and then asked of each document's attributes; nothing of it reaches a
database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.errors import InvalidRequest

Scalar = str | int | float | bool

MAX_COMPARISONS, MAX_DEPTH = 500, 16
"""Comparisons of one filter, and how deep they may be nested."""


@dataclass(frozen=True, slots=True)
class AttributeComparison:
    """``value`` is a list for ``in`` and ``nin``."""

    type: str
    key: str
    value: Scalar | Sequence[Scalar]

    def matches(self, attributes: Mapping[str, Any]) -> bool:
        """What a document has not is equal to nothing, and neither more nor less: only ``ne`` and
        ``nin`` hold of it."""
        if self.key not in attributes:
            return self.type in ("ne", "nin")
        return _OPERATORS[self.type](attributes[self.key], self.value)


@dataclass(frozen=True, slots=True)
class CompoundFilter:
    """``and`` of none holds, ``or`` of none does not."""

    type: str
    filters: Sequence[Filter]

    def matches(self, attributes: Mapping[str, Any]) -> bool:
        results = (nested.matches(attributes) for nested in self.filters)
        return all(results) if self.type == "and" else any(results)


Filter = AttributeComparison | CompoundFilter


# -------------------------------------------------------------------------------------------- comparing


def _kind(value: object) -> str:
    """What may be compared with what: a truth is no number, a number no text."""
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else ""


def _equal(ours: Any, theirs: Any) -> bool:
    return _kind(ours) == _kind(theirs) and bool(ours == theirs)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Numbers by size, texts by their letters (so that ISO dates are in order)."""
    return lambda ours, theirs: _kind(ours) == _kind(theirs) in ("number", "text") and compare(ours, theirs)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _equal,
    "ne": lambda ours, theirs: not _equal(ours, theirs),
    "gt": _ordered(lambda ours, theirs: bool(ours > theirs)),
    "gte": _ordered(lambda ours, theirs: bool(ours >= theirs)),
    "lt": _ordered(lambda ours, theirs: bool(ours < theirs)),
    "lte": _ordered(lambda ours, theirs: bool(ours <= theirs)),
    "in": lambda ours, theirs: any(_equal(ours, item) for item in theirs),
    "nin": lambda ours, theirs: not any(_equal(ours, item) for item in theirs),
}


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
    if not isinstance(kind, str) or kind not in _OPERATORS:
        raise _invalid(f"{where}.type", f"one of {', '.join(_OPERATORS)}, and, or.")
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
        if not isinstance(value, list) or not all(_kind(item) for item in value) or len(value) > MAX_COMPARISONS:
            raise _invalid(where, f"a list of at most {MAX_COMPARISONS} texts, numbers or booleans is needed.")
        return list(value)
    if not _kind(value):
        raise _invalid(where, "a text, a number or a boolean is needed.")
    if kind not in ("eq", "ne") and isinstance(value, bool):
        raise _invalid(where, "a boolean is neither more nor less than another.")
    scalar: Scalar = value
    return scalar


def _count(parsed: Filter) -> int:
    return sum(map(_count, parsed.filters)) if isinstance(parsed, CompoundFilter) else 1


def _invalid(where: str, message: str) -> InvalidRequest:
    return InvalidRequest(f"{where}: {message}", param=where)
