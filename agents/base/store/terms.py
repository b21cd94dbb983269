"""Interns strings: a small number for each model, tool and error type, cached in the process."""

from __future__ import annotations

import threading

from agents.base.models.terms import Term, TermKind
from agents.base.tokenizer import fold

_ids: dict[tuple[int, str], int] = {}
_values: dict[int, str] = {}
_lock = threading.Lock()
MAX_LENGTH = 300


def forget() -> None:
    """Empty the cache: a transaction that interned something was rolled back."""
    with _lock:
        _ids.clear()
        _values.clear()


def intern(kind: TermKind, value: str) -> int | None:
    """Return the number of a string, interned if it is new; None for the empty string. Writes."""
    value = value[:MAX_LENGTH]
    if not value:
        return None
    key = (int(kind), value)
    if key not in _ids:
        folded = fold(value)[:1000]
        term, _ = Term.objects.get_or_create(kind=int(kind), value=value, defaults={"folded": folded})
        with _lock:
            _ids[key] = term.pk
    return _ids[key]


def find(kind: TermKind, value: str) -> int | None:
    """Return the number of a string; None if it is not interned. Only reads."""
    number = _ids.get((int(kind), value))
    if number is None:
        number = Term.objects.filter(kind=int(kind), value=value).values_list("pk", flat=True).first()
    return number


def text(number: int | None) -> str:
    """Return the string of a number; empty for None."""
    if number is None:
        return ""
    if number not in _values:
        value = Term.objects.filter(pk=number).values_list("value", flat=True).first()
        if value is None:
            return ""
        with _lock:
            _values[number] = value
    return _values[number]


def texts(numbers: set[int | None]) -> dict[int | None, str]:
    """Return the strings of several numbers, in one query for those not cached."""
    missing = [number for number in numbers if number is not None and number not in _values]
    if missing:
        rows = dict(Term.objects.filter(pk__in=missing).values_list("pk", "value"))
        with _lock:
            _values.update(rows)
    return {number: _values.get(number, "") if number is not None else "" for number in numbers}


def all_of(kind: TermKind) -> list[str]:
    """Return the first 500 strings of a kind, sorted: choices for a filter."""
    return list(Term.objects.filter(kind=int(kind)).order_by("value").values_list("value", flat=True)[:500])
