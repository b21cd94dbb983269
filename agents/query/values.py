"""Check the value behind a field's colon: one operator and one scalar become one `FieldTerm`."""

from __future__ import annotations

import re
from typing import assert_never

from agents.base.errors import QuerySyntax
from agents.base.tokenizer import fold, tokens
from agents.query.fields import QueryField, closest_name
from agents.query.numbers import read_number, read_numbers
from agents.query.scanner import Scalar, excerpt
from agents.query.times import Now, read_period, read_range
from agents.query.tree import ExactValue, FieldTerm, Flag, Op, Pattern, SearchPhrase, Value

_NUMBERS = re.compile(r"(-?[0-9.]+[kM]?)?\.\.(-?[0-9.]+[kM]?)?", re.IGNORECASE)
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def read_term(field: QueryField, path: tuple[str | int, ...], op: Op | None, scalar: Scalar, now: Now) -> FieldTerm:
    """Build the term of ``field:scalar``, or with an operator between. Raises QuerySyntax."""
    if op is None and scalar.bare and scalar.value == "*":
        return presence(field, path, scalar)
    if op == "!=" and scalar.bare and scalar.value == "*":
        raise scalar.error(f"No value is other than *. For rows without {field.name}, write -has:{field.name}")
    if op is None and _is_range(field, scalar):
        op = ".."
    effective_op = op or _default_op(field, scalar)
    if effective_op not in field.operators:
        raise scalar.error(f"{field.name} cannot be compared with {effective_op}: {_accepted_values(field)}")
    return FieldTerm(field=field.name, path=path, op=effective_op, value=_value(field, op, effective_op, scalar, now))


def _is_range(field: QueryField, scalar: Scalar) -> bool:
    """Whether the scalar is a range. Data may be a path with dots in it; only numbers make a range there."""
    if ".." not in field.operators or not scalar.bare or ".." not in scalar.value:
        return False
    return field.kind != "data" or _NUMBERS.fullmatch(scalar.value) is not None


def _default_op(field: QueryField, scalar: Scalar) -> Op:
    """Return the operator that the colon alone means."""
    if field.kind == "data":
        return "contains" if len(scalar.parts) == 1 else "="
    return "contains" if field.kind == "text" else "="


def presence(field: QueryField, path: tuple[str | int, ...], scalar: Scalar) -> FieldTerm:
    """Build the term of ``has:field`` or ``field:*``."""
    if "has" not in field.operators:
        raise scalar.error(f"{field.name} is never absent, so has:{field.name} says nothing. Write {field.sample}")
    return FieldTerm(field=field.name, path=path, op="has")


def read_phrase(scalar: Scalar) -> SearchPhrase:
    """Read a phrase; a star at its end makes the last word the beginning of a word, one before it finds
    the phrase in the middle of words, too."""
    first, last = int(scalar.leading_star), len(scalar.parts) - (scalar.trailing_star and len(scalar.parts) > 1)
    if scalar.bare and last - first > 1:
        raise scalar.error("In a text, * stands at the end of a word: refund*, or before it: *fund")
    text = "*".join(scalar.parts[first:last])
    return SearchPhrase(
        text=_require_words(text, scalar),
        prefix=scalar.trailing_star and not scalar.leading_star,
        inside=scalar.leading_star,
    )


def _require_words(text: str, scalar: Scalar) -> str:
    if not tokens(text):
        raise scalar.error(f"{excerpt(scalar.value)} has nothing to search for: only letters, digits and _ count")
    return text


def _value(field: QueryField, op: Op | None, effective_op: Op, scalar: Scalar, now: Now) -> Value:
    match field.kind:
        case "data":
            return _json_value(op, effective_op, scalar)
        case "text":
            return (
                read_phrase(scalar)
                if effective_op == "contains"
                else SearchPhrase(text=_require_words(scalar.value, scalar))
            )
        case "choice":
            return _closed_choice(field, op, scalar) if field.choices else _open_choice(op, scalar)
        case "id":
            return ExactValue(text=_require_text(scalar))
        case "flag":
            return _flag(field, scalar)
        case "number":
            assert field.unit is not None
            return read_numbers(scalar, field.unit) if effective_op == ".." else read_number(scalar, field.unit)
        case "time":
            return read_range(scalar, now) if effective_op == ".." else read_period(scalar, effective_op, now)
        case _:
            assert_never(field.kind)


def _json_value(op: Op | None, effective_op: Op, scalar: Scalar) -> Value:
    match effective_op:
        case "..":
            return read_numbers(scalar, "any")
        case ">" | ">=" | "<" | "<=":
            return read_number(scalar, "any")
        case "contains":
            return SearchPhrase(text=_require_words(scalar.value, scalar))
        case _:
            return _open_choice(op, scalar)


def _open_choice(op: Op | None, scalar: Scalar) -> ExactValue | Pattern:
    """Read a value of an open field; behind ``=`` a star is a plain character."""
    _require_text(scalar)
    if op == "=" or len(scalar.parts) == 1:
        return ExactValue(text=scalar.value)
    return Pattern(parts=scalar.parts)


def _closed_choice(field: QueryField, op: Op | None, scalar: Scalar) -> ExactValue | Pattern:
    if op != "=" and len(scalar.parts) > 1:
        pattern = Pattern(parts=tuple(map(fold, scalar.parts)))
        if any(map(pattern.matches, field.choices)):
            return pattern
        raise scalar.error(f"No {field.name} is like {excerpt(scalar.value)}: {_accepted_values(field)}")
    choice = field.choice(scalar.value)
    if choice is None:
        raise _unknown_choice(field, scalar)
    return ExactValue(text=choice)


def _unknown_choice(field: QueryField, scalar: Scalar) -> QuerySyntax:
    better = closest_name(scalar.value, (*field.choices, *field.aliases))
    hint = f"Did you mean {better}? " if better else ""
    listed = ", ".join(field.choices)
    return scalar.error(f"Unknown {field.name} {excerpt(scalar.value)}. {hint}It is one of {listed}", better=better)


def _flag(field: QueryField, scalar: Scalar) -> Flag:
    value = _FLAGS.get(scalar.value.lower())
    if value is None:
        raise scalar.error(f"{field.name} is true or false, not {excerpt(scalar.value)}")
    return Flag(value=value)


def _require_text(scalar: Scalar) -> str:
    if not scalar.value.strip():
        raise scalar.error("There is nothing between these quotes")
    return scalar.value


def _accepted_values(field: QueryField) -> str:
    """List what the field takes, as the end of a message."""
    if field.choices:
        return f"it is one of {', '.join(field.choices)}"
    signs = ", ".join(op for op in field.operators if op not in ("contains", "has"))
    return f"it takes {signs}, such as {field.sample}"
