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

MOST, DEEPEST = 500, 16
"""Comparisons of one filter, and how deep they may be nested."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``value`` is a list for ``in`` and ``nin``."""

    type: str
    key: str
    value: Scalar | Sequence[Scalar]

    def matches(self, attributes: Mapping[str, Any]) -> bool:
        """What a document has not is equal to nothing, and neither more nor less: only ``ne`` and
        ``nin`` hold of it."""
        if self.key not in attributes:
            return self.type in ("ne", "nin")
        return _COMPARED[self.type](attributes[self.key], self.value)


@dataclass(frozen=True, slots=True)
class Compound:
    """``and`` of none holds, ``or`` of none does not."""

    type: str
    filters: Sequence[Filter]

    def matches(self, attributes: Mapping[str, Any]) -> bool:
        found = (one.matches(attributes) for one in self.filters)
        return all(found) if self.type == "and" else any(found)


Filter = Comparison | Compound


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


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "eq": _equal,
    "ne": lambda ours, theirs: not _equal(ours, theirs),
    "gt": _ordered(lambda ours, theirs: bool(ours > theirs)),
    "gte": _ordered(lambda ours, theirs: bool(ours >= theirs)),
    "lt": _ordered(lambda ours, theirs: bool(ours < theirs)),
    "lte": _ordered(lambda ours, theirs: bool(ours <= theirs)),
    "in": lambda ours, theirs: any(_equal(ours, one) for one in theirs),
    "nin": lambda ours, theirs: not any(_equal(ours, one) for one in theirs),
}


# --------------------------------------------------------------------------------------------- parsing


def parse(given: Any, where: str = "filters") -> Filter | None:
    """A filter from JSON; None for null and for an empty object. Raises InvalidRequest, naming the place
    below ``where``."""
    if given is None or given == {}:
        return None
    parsed = _parse(given, where, DEEPEST)
    if _count(parsed) > MOST:
        raise _wrong(where, f"more than {MOST} comparisons.")
    return parsed


def _parse(given: Any, where: str, deeper: int) -> Filter:
    if not isinstance(given, Mapping):
        raise _wrong(where, "an object with a type is needed.")
    kind = given.get("type")
    if kind in ("and", "or"):
        return _compound(str(kind), given.get("filters"), where, deeper)
    if not isinstance(kind, str) or kind not in _COMPARED:
        raise _wrong(f"{where}.type", f"one of {', '.join(_COMPARED)}, and, or.")
    key = given.get("key")
    if not isinstance(key, str) or not key:
        raise _wrong(f"{where}.key", "the name of an attribute is needed.")
    return Comparison(kind, key, _value(kind, given.get("value"), f"{where}.value"))


def _compound(kind: str, inner: Any, where: str, deeper: int) -> Compound:
    if not isinstance(inner, list):
        raise _wrong(f"{where}.filters", "a list of filters is needed.")
    if not deeper:
        raise _wrong(where, f"nested deeper than {DEEPEST} levels.")
    if len(inner) > MOST:
        raise _wrong(where, f"more than {MOST} comparisons.")
    return Compound(kind, [_parse(one, f"{where}.filters.{place}", deeper - 1) for place, one in enumerate(inner)])


def _value(kind: str, value: Any, where: str) -> Scalar | Sequence[Scalar]:
    if kind in ("in", "nin"):
        if not isinstance(value, list) or not all(_kind(one) for one in value) or len(value) > MOST:
            raise _wrong(where, f"a list of at most {MOST} texts, numbers or booleans is needed.")
        return list(value)
    if not _kind(value):
        raise _wrong(where, "a text, a number or a boolean is needed.")
    if kind not in ("eq", "ne") and isinstance(value, bool):
        raise _wrong(where, "a boolean is neither more nor less than another.")
    scalar: Scalar = value
    return scalar


def _count(parsed: Filter) -> int:
    return sum(map(_count, parsed.filters)) if isinstance(parsed, Compound) else 1


def _wrong(where: str, words: str) -> InvalidRequest:
    return InvalidRequest(f"{where}: {words}", param=where)
