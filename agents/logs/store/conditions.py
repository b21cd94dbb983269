"""Conditions on one column, out of the value of a term: names, choices, numbers, moments.

What a term is called and which column it means is the business of `agents.logs.store.levels`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual

from agents.base import ids
from agents.base.models.terms import Term, TermKind
from agents.base.timestamps import to_datetime
from agents.base.tokenizer import fold, tokens
from agents.query import fields
from agents.query.tree import ExactValue, Number, NumberRange, Pattern, Period, SearchPhrase, Value
from agents.query.tree import FieldTerm as TermNode

NOTHING = Q(pk__in=())
EVERYTHING = ~NOTHING
"""Not the empty condition, which Django drops from an OR."""


def listed(keys: Sequence[int]) -> Any:
    """These keys, as a subquery where they are too many for the values of a statement."""
    if len(keys) <= 500:
        return list(keys)
    table = "json_each(%s)" if connection.vendor == "sqlite" else "jsonb_array_elements_text(%s::jsonb)"
    cast = "value" if connection.vendor == "sqlite" else "value::bigint"
    return RawSQL(f"SELECT {cast} FROM {table}", [json.dumps(list(keys))])  # noqa: S608, S611 - the text is two constants of ours, the keys are bound


def fits(value: Value | None, text: str) -> bool:
    """Whether a text is what a term asks for, folded as everywhere; without a value any is."""
    match value:
        case Pattern():
            return value.matches(text)
        case ExactValue():
            return fold(text) == fold(value.text)
        case SearchPhrase():
            return contains(tokens(text), value)
        case _:
            return bool(text)


def contains(found: list[str], value: SearchPhrase) -> bool:
    """Whether these words hold those of ``value`` next to each other."""
    wanted = tokens(value.text)
    if not wanted:
        return False
    for start in range(len(found) - len(wanted) + 1):
        head, last = found[start : start + len(wanted) - 1], found[start + len(wanted) - 1]
        if head == wanted[:-1] and (last.startswith(wanted[-1]) if value.prefix else last == wanted[-1]):
            return True
    return False


def among(column: str, keys: Iterable[Any], node: TermNode) -> Q:
    """A choice: among these numbers; ``!=`` leaves out rows without any, ``has`` wants any."""
    if node.op == "has":
        return Q(**{f"{column}__isnull": False})
    numbers = list(keys)
    same = Q(**{column: numbers[0]}) if len(numbers) == 1 else Q(**{f"{column}__in": listed(numbers)})
    return same if node.op != "!=" else ~same & Q(**{f"{column}__isnull": False})


def interned(kind: TermKind, column: str) -> Callable[[TermNode], Q]:
    """A name that rows hold as a number."""

    def term(node: TermNode) -> Q:
        rows = Term.objects.filter(kind=int(kind)).values_list("pk", "value") if node.op != "has" else ()
        return among(column, (key for key, text in rows if fits(node.value, text)), node)

    return term


def keys_named(kind: ids.Kind, value: Value | None) -> list[int]:
    """The key that a value names as a public id, if it does."""
    if not isinstance(value, ExactValue):
        return []
    digits = fields.canonical_id(value.text)
    if len(digits) != 32:
        return []
    key = ids.parse(kind, f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
    return [] if key is None else [key]


def chosen(column: str, choices: Any) -> Callable[[TermNode], Q]:
    """One of a few, by their labels."""

    def term(node: TermNode) -> Q:
        return among(column, (choice.value for choice in choices if fits(node.value, choice.label)), node)

    return term


_COMPARE = {">": GreaterThan, ">=": GreaterThanOrEqual, "<": LessThan, "<=": LessThanOrEqual}


def amount(expression: Any, column: str | None = None) -> Callable[[TermNode], Q]:
    """A number; ``column`` is what may be absent."""

    def term(node: TermNode) -> Q:
        present = Q(**{f"{column}__isnull": False}) if column else EVERYTHING
        match node.value:
            case Number(value=value) if node.op in _COMPARE:
                return present & Q(_COMPARE[node.op](expression, value))
            case Number(value=value):
                same = Q(GreaterThanOrEqual(expression, value)) & Q(LessThanOrEqual(expression, value))
                return present & (same if node.op == "=" else ~same)
            case NumberRange(low=low, high=high):
                above = Q(GreaterThanOrEqual(expression, low)) if low is not None else EVERYTHING
                below = Q(LessThanOrEqual(expression, high)) if high is not None else EVERYTHING
                return present & above & below
            case _:
                return present

    return term


def moment(column: str) -> Callable[[TermNode], Q]:
    """A time within a period."""

    def term(node: TermNode) -> Q:
        if not isinstance(node.value, Period):
            return Q(**{f"{column}__isnull": False})
        found = Q(**{f"{column}__isnull": False})
        if node.value.low_us is not None:
            found &= Q(**{f"{column}__gte": to_datetime(node.value.low_us)})
        if node.value.high_us is not None:
            found &= Q(**{f"{column}__lt": to_datetime(node.value.high_us)})
        return found

    return term
