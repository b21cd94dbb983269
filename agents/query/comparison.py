"""Compare a single value with what a term says of it: words of a text, values inside JSON.

The store's SQL does the same for whole columns; where it cannot look inside a value, it reads the
value and asks here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any

from agents.base.tokenizer import fold, index_text
from agents.query.tree import EVERY, Number, Numbers, Op, Pattern, Value, Whole, Words

COMPARE = {"=": eq, "!=": eq, ">": gt, ">=": ge, "<": lt, "<=": le}
"""By operator; ``!=`` compares as ``=`` does, and its caller negates."""


def contains(text: str, words: Words) -> bool:
    """Whether the words stand next to each other in the text; or its letters, anywhere."""
    if words.inside:
        return index_text(words.text) in index_text(text)
    end = "" if words.prefix else " "
    return f" {index_text(words.text)}{end}" in f" {index_text(text)} "


def inside(value: Any, path: Sequence[str | int]) -> list[Any]:
    """The values that lie at a path in decoded JSON: of a list there, each of its elements."""
    if not path:
        return list(value) if isinstance(value, list | tuple) else [value]
    step, rest = path[0], path[1:]
    if isinstance(value, Mapping) and isinstance(step, str):
        return inside(value.get(step), rest)
    if isinstance(value, list | tuple) and step == EVERY:
        return [found for each in value for found in inside(each, rest)]
    if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
        return inside(value[step], rest)
    return []


def fits_data(op: Op, wanted: Value | None, value: Any) -> bool:
    """Whether a value of JSON is as a term on data says; a list or an object is like nothing."""
    text = scalar_text(value)
    match wanted:
        case None:
            return value is not None
        case _ if text is None:
            return False
        case Words():
            return contains(text, wanted)
        case Whole():
            return fold(text) == fold(wanted.text)
        case Pattern():
            return wanted.fits(text)
        case Number(value=number):
            return _is_number(value) and bool(COMPARE[op](value, number))
        case Numbers(low=low, high=high):
            return _is_number(value) and (low is None or value >= low) and (high is None or value <= high)
        case _:
            return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def scalar_text(value: Any) -> str | None:
    """A JSON scalar as text; None for lists and objects, which equal nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
