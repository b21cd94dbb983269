"""Build conditions on one column from the value of a term: names, choices, numbers, timestamps.

`agents.logs.store.levels` maps the fields to these columns.
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
from agents.query.tree import ExactValue, FieldTerm, Number, NumberRange, Pattern, Period, SearchPhrase, Value

NOTHING = Q(pk__in=())
EVERYTHING = ~NOTHING
"""Not the empty condition, which Django drops from an OR."""


def key_list(keys: Sequence[int]) -> Any:
    """Return the keys as a list, or as a subquery where they are too many for the values of a statement."""
    if len(keys) <= 500:
        return list(keys)
    table = "json_each(%s)" if connection.vendor == "sqlite" else "jsonb_array_elements_text(%s::jsonb)"
    cast = "value" if connection.vendor == "sqlite" else "value::bigint"
    return RawSQL(f"SELECT {cast} FROM {table}", [json.dumps(list(keys))])  # noqa: S608, S611 - the text is two constants of ours, the keys are bound


def value_matches(value: Value | None, text: str) -> bool:
    """Whether a text matches the value of a term, both folded; without a value any text does."""
    match value:
        case Pattern():
            return value.matches(text)
        case ExactValue():
            return fold(text) == fold(value.text)
        case SearchPhrase():
            return words_match(tokens(text), value)
        case _:
            return bool(text)


def words_match(text_words: list[str], value: SearchPhrase) -> bool:
    """Whether these words contain those of ``value`` next to each other."""
    phrase_words = tokens(value.text)
    if not phrase_words:
        return False
    for start in range(len(text_words) - len(phrase_words) + 1):
        head, final = text_words[start : start + len(phrase_words) - 1], text_words[start + len(phrase_words) - 1]
        if head == phrase_words[:-1] and (
            final.startswith(phrase_words[-1]) if value.prefix else final == phrase_words[-1]
        ):
            return True
    return False


def one_of(column: str, keys: Iterable[Any], node: FieldTerm) -> Q:
    """Build the condition that a column has one of these keys; ``!=`` leaves out rows without a value, ``has``
    accepts any value."""
    if node.op == "has":
        return Q(**{f"{column}__isnull": False})
    numbers = list(keys)
    same = Q(**{column: numbers[0]}) if len(numbers) == 1 else Q(**{f"{column}__in": key_list(numbers)})
    return same if node.op != "!=" else ~same & Q(**{f"{column}__isnull": False})


def interned_name(kind: TermKind, column: str) -> Callable[[FieldTerm], Q]:
    """Build the term on a name that rows store as the key of an interned text."""

    def term(node: FieldTerm) -> Q:
        rows = Term.objects.filter(kind=int(kind)).values_list("pk", "value") if node.op != "has" else ()
        return one_of(column, (key for key, text in rows if value_matches(node.value, text)), node)

    return term


def keys_of_id(kind: ids.Kind, value: Value | None) -> list[int]:
    """Return the key that a value is the public id of, in a list; empty where it is no id."""
    if not isinstance(value, ExactValue):
        return []
    digits = fields.canonical_id(value.text)
    if len(digits) != 32:
        return []
    key = ids.parse(kind, f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
    return [] if key is None else [key]


def chosen(column: str, choices: Iterable[tuple[int, str]]) -> Callable[[FieldTerm], Q]:
    """Build the term on a column of choices, (value, label), compared by their labels."""

    def term(node: FieldTerm) -> Q:
        return one_of(column, (value for value, label in choices if value_matches(node.value, label)), node)

    return term


_COMPARE = {">": GreaterThan, ">=": GreaterThanOrEqual, "<": LessThan, "<=": LessThanOrEqual}


def amount(expression: Any, column: str | None = None) -> Callable[[FieldTerm], Q]:
    """Build the term on a number; ``column`` is the one that may be null."""

    def term(node: FieldTerm) -> Q:
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


def timestamp(column: str) -> Callable[[FieldTerm], Q]:
    """Build the term on a timestamp within a period."""

    def term(node: FieldTerm) -> Q:
        if not isinstance(node.value, Period):
            return Q(**{f"{column}__isnull": False})
        condition = Q(**{f"{column}__isnull": False})
        if node.value.low_us is not None:
            condition &= Q(**{f"{column}__gte": to_datetime(node.value.low_us)})
        if node.value.high_us is not None:
            condition &= Q(**{f"{column}__lt": to_datetime(node.value.high_us)})
        return condition

    return term
