"""A tree as text: the normal form that reads back as the same tree.

A blank for AND, ``-`` for NOT, quotes and parentheses only where they are needed, aliases
resolved, amounts in their shortest form, ``field:(a OR b)`` for alternatives of one field.
"""

from __future__ import annotations

import re
from typing import assert_never

from agents.query.fields import FIELDS
from agents.query.numbers import number_text
from agents.query.scanner import refuse_long
from agents.query.times import period_text
from agents.query.tree import (
    EVERY,
    And,
    Count,
    Flag,
    Node,
    Not,
    Number,
    Numbers,
    Or,
    Pattern,
    Period,
    Query,
    Scope,
    Term,
    Text,
    Unit,
    Whole,
    Words,
    replaced,
)

_PLAIN_WORD = re.compile(r"\w[\w.@/+#%&,;~$'-]*")
_PLAIN_VALUE = re.compile(r"\w[\w.@/+#%&,;~$':-]*")
_PLAIN_KEY = re.compile(r"[\w-]+")
_KEYWORDS = ("AND", "OR", "NOT")


def normalise(query: Query) -> str:
    """The query's normal text: equal for queries that differ in spelling only."""
    return query.text


def absolute(query: Query) -> str:
    """The normal text with every time written out in UTC, for a URL to share: it means the same
    tomorrow and in any zone. Raises QuerySyntax where that makes it too long."""
    text = written(replaced(query.tree, _absolute))
    refuse_long(text)
    return text


def _absolute(term: Term) -> Term:
    if isinstance(term.value, Period):
        return term.model_copy(update={"value": term.value.model_copy(update={"text": ""})})
    return term


def written(node: Node) -> str:
    """The text of a tree. The empty And is the empty text."""
    if isinstance(node, Or):
        return _list_of_values(node) or " OR ".join(map(_conditions, node.nodes))
    return _conditions(node)


def _conditions(node: Node) -> str:
    if isinstance(node, And):
        return " ".join(map(condition_text, node.nodes))
    return condition_text(node)


def condition_text(node: Node) -> str:
    """The text of a node as one of several conditions: an And or an Or in parentheses."""
    match node:
        case Not():
            return f"-{condition_text(node.node)}"
        case Scope():
            return f"{_scope_name(node)}({written(node.node)})"
        case Term():
            return _presence(node) or f"{field_text(node)}:{_value_text(node)}"
        case Count():
            inner = written(node.node)
            return f"count({node.level}{': ' if inner else ''}{inner}){node.op}{node.value}"
        case Text():
            return _words_text(node.words, _PLAIN_WORD)
        case Or():
            return _list_of_values(node) or f"({written(node)})"
        case And():
            return f"({written(node)})"
        case _:
            assert_never(node)


def _scope_name(scope: Scope) -> str:
    return scope.level if scope.quantifier == "any" else f"{scope.quantifier}({scope.level})"


def _list_of_values(node: Or) -> str:
    """``field:(a OR b)`` where all alternatives are single terms of one field; else empty."""
    terms = [each for each in node.nodes if isinstance(each, Term)]
    fields = {field_text(term) for term in terms}
    if len(terms) < len(node.nodes) or len(fields) > 1:
        return ""
    return f"{fields.pop()}:({' OR '.join(map(_value_text, terms))})"


def _presence(term: Term) -> str:
    return f"has:{field_text(term)}" if term.op == "has" else ""


def field_text(term: Term) -> str:
    """The field with its path: ``meta.customer."first name".[0]``."""
    return ".".join((term.field, *map(_step_text, term.path)))


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return "[*]" if step == EVERY else f"[{step}]"
    return step if _PLAIN_KEY.fullmatch(step) else _quoted(step)


def _value_text(term: Term) -> str:
    """What stands behind the colon, operator included."""
    match term.value:
        case None:
            return "*"
        case Period() as period:
            return f"{_sign(term)}{period.text}" if period.text else period_text(period)
        case _ as value:
            return f"{_sign(term)}{_scalar_text(value)}"


def _sign(term: Term) -> str:
    """The operator as written: a plain colon means ``contains`` on texts, else ``=``."""
    if term.op == "=":
        known = FIELDS.get(term.field)
        plain_contains = known is not None and known.kind == "data" and isinstance(term.value, Whole)
        return "=" if plain_contains or isinstance(term.value, Words) else ""
    return "" if term.op in ("contains", "..") else term.op


def _scalar_text(value: Words | Whole | Pattern | Number | Numbers | Flag) -> str:
    match value:
        case Words():
            return _words_text(value, _PLAIN_VALUE)
        case Whole():
            bare = _PLAIN_VALUE.fullmatch(value.text) and value.text not in _KEYWORDS
            return value.text if bare else literal(value.text)
        case Pattern():
            return _pattern_text(value)
        case Number():
            return number_text(value.value, value.unit)
        case Numbers():
            return f"{_end_text(value.low, value.unit)}..{_end_text(value.high, value.unit)}"
        case Flag():
            return "true" if value.value else "false"
        case _:
            assert_never(value)


def _words_text(value: Words, plain: re.Pattern[str]) -> str:
    bare = plain.fullmatch(value.text) and value.text not in _KEYWORDS
    text = value.text if bare else _quoted(value.text)
    return f"{'*' if value.inside else ''}{text}{'*' if value.prefix else ''}"


def _pattern_text(value: Pattern) -> str:
    """In quotes also for a lone star, which would mean ``has``."""
    text, letters = "*".join(value.parts), "".join(value.parts)
    if text != "*" and _PLAIN_VALUE.fullmatch(f"x{letters}"):
        return text
    return f'"{"*".join(map(_escaped, value.parts))}"'


def _end_text(end: float | None, unit: Unit) -> str:
    return "" if end is None else number_text(end, unit)


def _quoted(text: str) -> str:
    return '"' + re.sub(r'["\\]', r"\\\g<0>", text) + '"'


def _escaped(text: str) -> str:
    """For between quotes where a star would be a wildcard."""
    return re.sub(r'["\\*]', r"\\\g<0>", text)


def literal(text: str) -> str:
    """A whole value in quotes, for the colon of a choice: nothing in it is special."""
    return f'"{_escaped(text)}"'
