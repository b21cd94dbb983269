"""Describe a query as an English sentence, for people and screen readers.

"turns that failed, of agent support, since 24 hours ago". The wording of each field is in the
table of fields. Values are hostile text: the sentence is plain text, to be escaped where it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from agents.query.fields import FIELDS, FREE_TEXT, QueryField, level_of
from agents.query.numbers import number_text
from agents.query.scanner import one_line
from agents.query.times import period_text
from agents.query.tree import (
    LEVELS,
    And,
    Count,
    ExactValue,
    FieldTerm,
    Flag,
    FreeText,
    Level,
    LevelScope,
    Node,
    Not,
    Number,
    NumberRange,
    Op,
    Or,
    Pattern,
    Period,
    Quantifier,
    Query,
    SearchPhrase,
    conjuncts,
)
from agents.query.writer import field_text

_MAX_QUOTED = 80
_STATUS = {
    "queued": "are queued",
    "in_progress": "are in progress",
    "awaiting_input": "are awaiting input",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "were cancelled",
    "interrupted": "were interrupted",
}
_COMPARISONS: dict[Op, str] = {
    "=": "exactly",
    "!=": "other than",
    ">": "more than",
    ">=": "at least",
    "<": "less than",
    "<=": "at most",
}
_TIME_BOUNDS: dict[Op, str] = {">": "after", ">=": "since", "<": "before", "<=": "until"}
_RELATIVE = re.compile(r"-(\d+)([smhdw])")
_TIME_UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}


def describe(query: Query, level: Level | None = None) -> str:
    """Return the sentence, about rows of ``level`` (by default the query's own)."""
    at = level or query.level
    conditions = conjuncts(query.tree)
    if not conditions:
        return f"all {at}s"
    return f"{at}s {', '.join(phrase(node, at) for node in conditions)}"


def phrase(node: Node, at: Level) -> str:
    """Return the part of the sentence for a condition: it follows the noun, as in "turns *that failed*"."""
    match node:
        case FieldTerm():
            return _with_level(FIELDS[node.field], at, _term([node]))
        case FreeText():
            return _with_level(FIELDS[FREE_TEXT], at, f"saying {_phrase_text(node.words, 'contains')}")
        case Not():
            return f"except those {phrase(node.node, at)}"
        case And():
            return _join((phrase(inner, at) for inner in node.nodes), "and")
        case Or():
            return _either(node, at)
        case LevelScope():
            return _scope(node, at)
        case Count():
            return _count(node, at)
        case _:
            assert_never(node)


def _with_level(field: QueryField, at: Level, text: str) -> str:
    level = level_of(field, at)
    return f"with a {level} {text}" if LEVELS.index(level) > LEVELS.index(at) else text


def _either(node: Or, at: Level) -> str:
    """Values of one field share its wording: "of agent a or b"."""
    terms = [term for term in node.nodes if isinstance(term, FieldTerm) and term.op in ("=", "contains")]
    if len(terms) == len(node.nodes) and len({field_text(term) for term in terms}) == 1:
        return _with_level(FIELDS[terms[0].field], at, _term(terms))
    return f"either {_join((phrase(inner, at) for inner in node.nodes), 'or')}"


def _scope(scope: LevelScope, at: Level) -> str:
    inner = phrase(scope.node, scope.level)
    if scope.level == at:
        return f"except those {inner}" if scope.quantifier == "no" else inner
    if LEVELS.index(scope.level) < LEVELS.index(at):
        return f"{'not ' if scope.quantifier == 'no' else ''}in a {scope.level} {inner}"
    level = scope.level
    leading: dict[Quantifier, str] = {
        "any": f"with a {level}",
        "all": f"with only {level}s",
        "no": f"without a {level}",
        "first": f"whose first {level} is one",
        "last": f"whose last {level} is one",
    }
    return f"{leading[scope.quantifier]} {inner}"


def _count(count: Count, at: Level) -> str:
    conditions = conjuncts(count.node)
    inner = "".join(f" {phrase(node, count.level)}" for node in conditions)
    return f"with {_COMPARISONS[count.op]} {count.value} {count.level}{'' if count.value == 1 else 's'}{inner}"


def _term(terms: list[FieldTerm]) -> str:
    """Describe one term, or several on one field of which any may hold."""
    first, field = terms[0], FIELDS[terms[0].field]
    if first.op == "has":
        return f"with any {field_text(first)}"
    exact = [term.value.text for term in terms if term.op == "=" and isinstance(term.value, ExactValue)]
    if field.name == "status" and len(exact) == len(terms):
        return f"that {_join((_STATUS[status] for status in exact), 'or')}"
    value = _join((_value(term, field) for term in terms), "or")
    if field.kind == "flag":
        return value
    return field.phrase.format(f"{field_text(first)} {value}" if field.keyed else value)


def _value(term: FieldTerm, field: QueryField) -> str:
    match term.value:
        case SearchPhrase() as value:
            return _phrase_text(value, term.op)
        case ExactValue(text=text):
            return f"{'other than ' if term.op == '!=' else ''}{_quoted(text)}"
        case Pattern(parts=parts):
            return f"{'not ' if term.op == '!=' else ''}like {_quoted('*'.join(parts))}"
        case Number(value=number, unit=unit):
            return f"{_COMPARISONS[term.op]} {number_text(number, unit)}"
        case NumberRange(low=low, high=high, unit=unit):
            ends = [None if end is None else number_text(end, unit) for end in (low, high)]
            return _between(ends[0], ends[1], "at least", "at most")
        case Period() as period:
            return _period(period, term.op)
        case Flag(value=flag):
            return field.phrase.split("|")[0 if flag else 1]
        case None:
            raise AssertionError("only 'has' has no value")
        case _:
            assert_never(term.value)


def _phrase_text(value: SearchPhrase, op: Op) -> str:
    leading = {"=": "exactly ", "!=": "anything but exactly "}.get(op, "")
    return (
        f"{leading}“{'…' if value.inside else ''}{_truncate(value.text)}{'…' if value.prefix or value.inside else ''}”"
    )


def _period(period: Period, op: Op) -> str:
    if not period.text:
        return period_text(period)
    if op == "..":
        low, _, high = period.text.partition("..")
        return _between(low and _time(low), high and _time(high), "since", "until")
    if _RELATIVE.fullmatch(period.text):
        return f"{'before' if op in ('<', '<=') else 'since'} {_time(period.text)}"
    if op == "=":
        return {"today": "today", "yesterday": "yesterday"}.get(period.text, f"on {_time(period.text)}")
    return f"{_TIME_BOUNDS[op]} {_time(period.text)}"


def _time(text: str) -> str:
    """``-24h`` → 24 hours ago; a ``T`` between day and clock becomes a blank."""
    ago = _RELATIVE.fullmatch(text)
    if ago:
        return f"{int(ago[1])} {_TIME_UNITS[ago[2]]}{'' if int(ago[1]) == 1 else 's'} ago"
    return text.replace("T", " ", 1)


def _between(low: str | None, high: str | None, at_least: str, at_most: str) -> str:
    if low and high:
        return f"between {low} and {high}"
    return f"{at_least} {low}" if low else f"{at_most} {high}"


def _join(phrases: Iterable[str], word: str) -> str:
    """a, b or c."""
    *first, final = phrases
    return f"{', '.join(first)} {word} {final}" if first else final


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.@/*+-]{1,80}", text) else f"“{_truncate(text)}”"


def _truncate(text: str) -> str:
    return one_line(text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…")
