"""A query as an English sentence, for people and screen readers.

"turns that failed, of agent support, since 24 hours ago". The words of each field are in the table
of fields. Values are hostile text: the sentence is plain text, to be escaped where it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from agents.query.fields import FIELDS, FREE_TEXT, Field, level_of
from agents.query.numbers import number_text
from agents.query.scanner import one_line
from agents.query.times import period_text
from agents.query.tree import (
    LEVELS,
    And,
    Count,
    Flag,
    Level,
    Node,
    Not,
    Number,
    Numbers,
    Op,
    Or,
    Pattern,
    Period,
    Quantifier,
    Query,
    Scope,
    Term,
    Text,
    Whole,
    Words,
    conjuncts,
)
from agents.query.writer import field_text

_LONGEST = 80
_STATUS = {
    "queued": "are queued",
    "in_progress": "are in progress",
    "awaiting_input": "are awaiting input",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "were cancelled",
    "interrupted": "were interrupted",
}
_COMPARED: dict[Op, str] = {
    "=": "exactly",
    "!=": "other than",
    ">": "more than",
    ">=": "at least",
    "<": "less than",
    "<=": "at most",
}
_BOUND: dict[Op, str] = {">": "after", ">=": "since", "<": "before", "<=": "until"}
_AGO = re.compile(r"-(\d+)([smhdw])")
_SPANS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}


def describe(query: Query, level: Level | None = None) -> str:
    """The sentence, about rows of ``level`` (by default the query's own)."""
    at = level or query.level
    conditions = conjuncts(query.tree)
    if not conditions:
        return f"all {at}s"
    return f"{at}s {', '.join(phrase(node, at) for node in conditions)}"


def phrase(node: Node, at: Level) -> str:
    """What a condition says of a row: it follows the noun, as in "turns *that failed*"."""
    match node:
        case Term():
            return _of_level(FIELDS[node.field], at, _term([node]))
        case Text():
            return _of_level(FIELDS[FREE_TEXT], at, f"saying {_words(node.words, 'contains')}")
        case Not():
            return f"except those {phrase(node.node, at)}"
        case And():
            return _joined((phrase(inner, at) for inner in node.nodes), "and")
        case Or():
            return _either(node, at)
        case Scope():
            return _scope(node, at)
        case Count():
            return _count(node, at)
        case _:
            assert_never(node)


def _of_level(field: Field, at: Level, words: str) -> str:
    own = level_of(field, at)
    return f"with a {own} {words}" if LEVELS.index(own) > LEVELS.index(at) else words


def _either(node: Or, at: Level) -> str:
    """Values of one field share its words: "of agent a or b"."""
    terms = [each for each in node.nodes if isinstance(each, Term) and each.op in ("=", "contains")]
    if len(terms) == len(node.nodes) and len({field_text(term) for term in terms}) == 1:
        return _of_level(FIELDS[terms[0].field], at, _term(terms))
    return f"either {_joined((phrase(inner, at) for inner in node.nodes), 'or')}"


def _scope(scope: Scope, at: Level) -> str:
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
    return f"with {_COMPARED[count.op]} {count.value} {count.level}{'' if count.value == 1 else 's'}{inner}"


def _term(terms: list[Term]) -> str:
    """One term, or several on one field of which any may hold."""
    first, field = terms[0], FIELDS[terms[0].field]
    if first.op == "has":
        return f"with any {field_text(first)}"
    wholes = [term.value.text for term in terms if term.op == "=" and isinstance(term.value, Whole)]
    if field.name == "status" and len(wholes) == len(terms):
        return f"that {_joined((_STATUS[each] for each in wholes), 'or')}"
    value = _joined((_value(term, field) for term in terms), "or")
    if field.kind == "flag":
        return value
    return field.phrase.format(f"{field_text(first)} {value}" if field.keyed else value)


def _value(term: Term, field: Field) -> str:
    match term.value:
        case Words() as words:
            return _words(words, term.op)
        case Whole(text=text):
            return f"{'other than ' if term.op == '!=' else ''}{_shown(text)}"
        case Pattern(parts=parts):
            return f"{'not ' if term.op == '!=' else ''}like {_shown('*'.join(parts))}"
        case Number(value=number, unit=unit):
            return f"{_COMPARED[term.op]} {number_text(number, unit)}"
        case Numbers(low=low, high=high, unit=unit):
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


def _words(words: Words, op: Op) -> str:
    leading = {"=": "exactly ", "!=": "anything but exactly "}.get(op, "")
    return f"{leading}“{'…' if words.inside else ''}{_cut(words.text)}{'…' if words.prefix or words.inside else ''}”"


def _period(period: Period, op: Op) -> str:
    if not period.text:
        return period_text(period)
    if op == "..":
        low, _, high = period.text.partition("..")
        return _between(low and _time(low), high and _time(high), "since", "until")
    if _AGO.fullmatch(period.text):
        return f"{'before' if op in ('<', '<=') else 'since'} {_time(period.text)}"
    if op == "=":
        return {"today": "today", "yesterday": "yesterday"}.get(period.text, f"on {_time(period.text)}")
    return f"{_BOUND[op]} {_time(period.text)}"


def _time(text: str) -> str:
    """``-24h`` → 24 hours ago; a ``T`` between day and clock becomes a blank."""
    ago = _AGO.fullmatch(text)
    if ago:
        return f"{int(ago[1])} {_SPANS[ago[2]]}{'' if int(ago[1]) == 1 else 's'} ago"
    return text.replace("T", " ", 1)


def _between(low: str | None, high: str | None, at_least: str, at_most: str) -> str:
    if low and high:
        return f"between {low} and {high}"
    return f"{at_least} {low}" if low else f"{at_most} {high}"


def _joined(phrases: Iterable[str], word: str) -> str:
    """a, b or c."""
    *first, last = phrases
    return f"{', '.join(first)} {word} {last}" if first else last


def _shown(text: str) -> str:
    return text if re.fullmatch(r"[\w.@/*+-]{1,80}", text) else f"“{_cut(text)}”"


def _cut(text: str) -> str:
    return one_line(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
