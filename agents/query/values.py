"""What a field accepts behind its colon: one operator and one scalar become one `Term`."""

from __future__ import annotations

import re
from typing import assert_never

from agents.base.errors import QuerySyntax
from agents.base.tokenizer import fold, words
from agents.query.fields import Field, nearest
from agents.query.numbers import read_number, read_numbers
from agents.query.scanner import Scalar, shown
from agents.query.times import Now, read_period, read_range
from agents.query.tree import Flag, Op, Pattern, Term, Value, Whole, Words

_NUMBERS = re.compile(r"(-?[0-9.]+[kM]?)?\.\.(-?[0-9.]+[kM]?)?", re.IGNORECASE)
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def read_term(field: Field, path: tuple[str | int, ...], op: Op | None, scalar: Scalar, now: Now) -> Term:
    """The term of ``field:scalar``, or with an operator between. Raises QuerySyntax."""
    if op is None and scalar.bare and scalar.value == "*":
        return presence(field, path, scalar)
    if op == "!=" and scalar.bare and scalar.value == "*":
        raise scalar.wrong(f"No value is other than *. For rows without {field.name}, write -has:{field.name}")
    if op is None and _is_range(field, scalar):
        op = ".."
    meant = op or _plain_op(field, scalar)
    if meant not in field.operators:
        raise scalar.wrong(f"{field.name} cannot be compared with {meant}: {_accepted(field)}")
    return Term(field=field.name, path=path, op=meant, value=_value(field, op, meant, scalar, now))


def _is_range(field: Field, scalar: Scalar) -> bool:
    """Data may be a path with dots in it; only numbers make a range there."""
    if ".." not in field.operators or not scalar.bare or ".." not in scalar.value:
        return False
    return field.kind != "data" or _NUMBERS.fullmatch(scalar.value) is not None


def _plain_op(field: Field, scalar: Scalar) -> Op:
    """What the colon alone means."""
    if field.kind == "data":
        return "contains" if len(scalar.parts) == 1 else "="
    return "contains" if field.kind == "text" else "="


def presence(field: Field, path: tuple[str | int, ...], scalar: Scalar) -> Term:
    """The term of ``has:field`` or ``field:*``."""
    if "has" not in field.operators:
        raise scalar.wrong(f"{field.name} is never absent, so has:{field.name} says nothing. Write {field.sample}")
    return Term(field=field.name, path=path, op="has")


def read_words(scalar: Scalar) -> Words:
    """Free words; a star at their end makes the last one the beginning of a word, one before them finds
    them in the middle of words, too."""
    first, last = int(scalar.led), len(scalar.parts) - (scalar.starred and len(scalar.parts) > 1)
    if scalar.bare and last - first > 1:
        raise scalar.wrong("In a text, * stands at the end of a word: refund*, or before it: *fund")
    text = "*".join(scalar.parts[first:last])
    return Words(text=_searchable(text, scalar), prefix=scalar.starred and not scalar.led, inside=scalar.led)


def _searchable(text: str, scalar: Scalar) -> str:
    if not words(text):
        raise scalar.wrong(f"{shown(scalar.value)} has nothing to search for: only letters, digits and _ count")
    return text


def _value(field: Field, op: Op | None, meant: Op, scalar: Scalar, now: Now) -> Value:
    match field.kind:
        case "data":
            return _data(op, meant, scalar)
        case "text":
            return read_words(scalar) if meant == "contains" else Words(text=_searchable(scalar.value, scalar))
        case "choice":
            return _closed(field, op, scalar) if field.choices else _open(op, scalar)
        case "id":
            return Whole(text=_filled(scalar))
        case "flag":
            return _flag(field, scalar)
        case "number":
            assert field.unit is not None
            return read_numbers(scalar, field.unit) if meant == ".." else read_number(scalar, field.unit)
        case "time":
            return read_range(scalar, now) if meant == ".." else read_period(scalar, meant, now)
        case _:
            assert_never(field.kind)


def _data(op: Op | None, meant: Op, scalar: Scalar) -> Value:
    match meant:
        case "..":
            return read_numbers(scalar, "any")
        case ">" | ">=" | "<" | "<=":
            return read_number(scalar, "any")
        case "contains":
            return Words(text=_searchable(scalar.value, scalar))
        case _:
            return _open(op, scalar)


def _open(op: Op | None, scalar: Scalar) -> Whole | Pattern:
    """Behind ``=`` a star is a star."""
    _filled(scalar)
    if op == "=" or len(scalar.parts) == 1:
        return Whole(text=scalar.value)
    return Pattern(parts=scalar.parts)


def _closed(field: Field, op: Op | None, scalar: Scalar) -> Whole | Pattern:
    if op != "=" and len(scalar.parts) > 1:
        pattern = Pattern(parts=tuple(map(fold, scalar.parts)))
        if any(map(pattern.fits, field.choices)):
            return pattern
        raise scalar.wrong(f"No {field.name} is like {shown(scalar.value)}: {_accepted(field)}")
    choice = field.choice(scalar.value)
    if choice is None:
        raise _no_choice(field, scalar)
    return Whole(text=choice)


def _no_choice(field: Field, scalar: Scalar) -> QuerySyntax:
    better = nearest(scalar.value, (*field.choices, *field.aliases))
    hint = f"Did you mean {better}? " if better else ""
    listed = ", ".join(field.choices)
    return scalar.wrong(f"Unknown {field.name} {shown(scalar.value)}. {hint}It is one of {listed}", better=better)


def _flag(field: Field, scalar: Scalar) -> Flag:
    value = _FLAGS.get(scalar.value.lower())
    if value is None:
        raise scalar.wrong(f"{field.name} is true or false, not {shown(scalar.value)}")
    return Flag(value=value)


def _filled(scalar: Scalar) -> str:
    if not scalar.value.strip():
        raise scalar.wrong("There is nothing between these quotes")
    return scalar.value


def _accepted(field: Field) -> str:
    """What the field takes, as the end of a message."""
    if field.choices:
        return f"it is one of {', '.join(field.choices)}"
    signs = ", ".join(op for op in field.operators if op not in ("contains", "has"))
    return f"it takes {signs}, such as {field.sample}"
