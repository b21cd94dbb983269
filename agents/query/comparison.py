"""Compare a single value with what a term says of it: words of a text, values inside JSON.

The store's SQL does the same for whole columns; where it cannot look inside a value, it reads the
value and asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any

from agents.base.tokenizer import fold, index_text
from agents.query.tree import EVERY_ITEM, ExactValue, Number, NumberRange, Op, Pattern, SearchPhrase, Value

COMPARE = {"=": eq, "!=": eq, ">": gt, ">=": ge, "<": lt, "<=": le}
"""By operator; ``!=`` compares as ``=`` does, and its caller negates."""


def contains_phrase(text: str, phrase: SearchPhrase) -> bool:
    """Whether the text holds the words next to each other or, of an ``inside`` phrase, its letters anywhere."""
    if phrase.inside:
        return index_text(phrase.text) in index_text(text)
    end = "" if phrase.prefix else " "
    return f" {index_text(phrase.text)}{end}" in f" {index_text(text)} "


def values_at(value: Any, path: Sequence[str | int]) -> list[Any]:
    """Return the values at a path in decoded JSON; a list at its end gives each of its items."""
    if not path:
        return list(value) if isinstance(value, list | tuple) else [value]
    step, tail = path[0], path[1:]
    if isinstance(value, Mapping) and isinstance(step, str):
        return values_at(value.get(step), tail)
    if isinstance(value, list | tuple) and step == EVERY_ITEM:
        return [nested for item in value for nested in values_at(item, tail)]
    if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
        return values_at(value[step], tail)
    return []


def json_value_matches(op: Op, expected: Value | None, value: Any) -> bool:
    """Whether a JSON value fulfils a term on data; a list or an object fulfils only ``has``."""
    text = scalar_text(value)
    match expected:
        case None:
            return value is not None
        case _ if text is None:
            return False
        case SearchPhrase():
            return contains_phrase(text, expected)
        case ExactValue():
            return fold(text) == fold(expected.text)
        case Pattern():
            return expected.matches(text)
        case Number(value=number):
            return _is_number(value) and bool(COMPARE[op](value, number))
        case NumberRange(low=low, high=high):
            return _is_number(value) and (low is None or value >= low) and (high is None or value <= high)
        case _:
            return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def scalar_text(value: Any) -> str | None:
    """Return a JSON scalar as text; None for lists and objects, which equal nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
