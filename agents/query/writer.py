"""Write a tree as text: the normal form, which parses back to the same tree.

A blank for AND, ``-`` for NOT, quotes and parentheses only where they are needed, aliases
resolved, amounts in their shortest form, ``field:(a OR b)`` for alternatives of one field.
"""

from __future__ import annotations

import re
from typing import assert_never

from agents.base.errors import QuerySyntax
from agents.query.fields import FIELDS
from agents.query.numbers import number_text
from agents.query.scanner import refuse_long
from agents.query.times import period_text
from agents.query.tree import (
    EVERY_ITEM,
    MAX_TERMS,
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
    Or,
    Pattern,
    Period,
    Query,
    SearchPhrase,
    Unit,
    count_conditions,
    replace_terms,
)

_PLAIN_WORD = re.compile(r"\w[\w.@/+#%&,;~$'-]*")
_PLAIN_VALUE = re.compile(r"\w[\w.@/+#%&,;~$':-]*")
_PLAIN_KEY = re.compile(r"[\w-]+")
_KEYWORDS = ("AND", "OR", "NOT")


def normalise(query: Query) -> str:
    """Return the query's normal text: equal for queries that differ in spelling only."""
    return query.text


def query_of(tree: Node, level: Level) -> Query:
    """Return the query of a tree that was put together from others. Raises QuerySyntax where it is too long."""
    if count_conditions(tree) > MAX_TERMS:
        raise QuerySyntax(f"A query has at most {MAX_TERMS} conditions", position=0)
    text = tree_text(tree)
    refuse_long(text)
    return Query(text=text, tree=tree, level=level)


def absolute(query: Query) -> str:
    """Return the normal text with every time written out in UTC, for a URL to share: it means the same
    tomorrow and in any zone. Raises QuerySyntax where that makes it too long."""
    text = tree_text(replace_terms(query.tree, _absolute))
    refuse_long(text)
    return text


def _absolute(term: FieldTerm) -> FieldTerm:
    if isinstance(term.value, Period):
        return term.model_copy(update={"value": term.value.model_copy(update={"text": ""})})
    return term


def tree_text(node: Node) -> str:
    """Return the text of a tree. The empty And is the empty text."""
    if isinstance(node, Or):
        return _value_list(node) or " OR ".join(map(_conditions, node.nodes))
    return _conditions(node)


def _conditions(node: Node) -> str:
    if isinstance(node, And):
        return " ".join(map(condition_text, node.nodes))
    return condition_text(node)


def condition_text(node: Node) -> str:
    """Return the text of a node as one of several conditions: an And or an Or in parentheses."""
    match node:
        case Not():
            return f"-{condition_text(node.node)}"
        case LevelScope():
            return f"{_scope_name(node)}({tree_text(node.node)})"
        case FieldTerm():
            return _presence(node) or f"{field_text(node)}:{_value_text(node)}"
        case Count():
            inner = tree_text(node.node)
            return f"count({node.level}{': ' if inner else ''}{inner}){node.op}{node.value}"
        case FreeText():
            return _phrase_text(node.words, _PLAIN_WORD)
        case Or():
            return _value_list(node) or f"({tree_text(node)})"
        case And():
            return f"({tree_text(node)})"
        case _:
            assert_never(node)


def _scope_name(scope: LevelScope) -> str:
    return scope.level if scope.quantifier == "any" else f"{scope.quantifier}({scope.level})"


def _value_list(node: Or) -> str:
    """``field:(a OR b)`` where all alternatives are single terms of one field; else empty."""
    terms = [alternative for alternative in node.nodes if isinstance(alternative, FieldTerm)]
    fields = {field_text(term) for term in terms}
    if len(terms) < len(node.nodes) or len(fields) > 1:
        return ""
    return f"{fields.pop()}:({' OR '.join(map(_value_text, terms))})"


def _presence(term: FieldTerm) -> str:
    return f"has:{field_text(term)}" if term.op == "has" else ""


def field_text(term: FieldTerm) -> str:
    """Return the field with its path: ``meta.customer."first name".[0]``."""
    return ".".join((term.field, *map(_step_text, term.path)))


def with_path(name: str) -> str:
    """Return the field that is called by its dotted path, ``meta.first name``, as a query has it: steps in quotes where
    they need them."""
    if name in FIELDS:
        return name
    field, *steps = name.split(".")
    return ".".join((field, *(step if step.startswith("[") else _step_text(step) for step in steps)))


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return "[*]" if step == EVERY_ITEM else f"[{step}]"
    return step if _PLAIN_KEY.fullmatch(step) else _quoted(step)


def _value_text(term: FieldTerm) -> str:
    """Return the text behind the colon, operator included."""
    match term.value:
        case None:
            return "*"
        case Period() as period:
            return f"{_operator_text(term)}{period.text}" if period.text else period_text(period)
        case _ as value:
            return f"{_operator_text(term)}{_scalar_text(value)}"


def _operator_text(term: FieldTerm) -> str:
    """Return the operator to write: a plain colon means ``contains`` on texts, else ``=``."""
    if term.op == "=":
        field = FIELDS.get(term.field)
        plain_contains = field is not None and field.kind == "data" and isinstance(term.value, ExactValue)
        return "=" if plain_contains or isinstance(term.value, SearchPhrase) else ""
    return "" if term.op in ("contains", "..") else term.op


def _scalar_text(value: SearchPhrase | ExactValue | Pattern | Number | NumberRange | Flag) -> str:
    match value:
        case SearchPhrase():
            return _phrase_text(value, _PLAIN_VALUE)
        case ExactValue():
            bare = _PLAIN_VALUE.fullmatch(value.text) and value.text not in _KEYWORDS
            return value.text if bare else literal(value.text)
        case Pattern():
            return _pattern_text(value)
        case Number():
            return number_text(value.value, value.unit)
        case NumberRange():
            return f"{_bound_text(value.low, value.unit)}..{_bound_text(value.high, value.unit)}"
        case Flag():
            return "true" if value.value else "false"
        case _:
            assert_never(value)


def _phrase_text(value: SearchPhrase, plain: re.Pattern[str]) -> str:
    bare = plain.fullmatch(value.text) and value.text not in _KEYWORDS
    text = value.text if bare else _quoted(value.text)
    return f"{'*' if value.inside else ''}{text}{'*' if value.prefix else ''}"


def _pattern_text(value: Pattern) -> str:
    """In quotes also for a lone star, which would mean ``has``."""
    text, letters = "*".join(value.parts), "".join(value.parts)
    if text != "*" and _PLAIN_VALUE.fullmatch(f"x{letters}"):
        return text
    return f'"{"*".join(map(_escaped, value.parts))}"'


def _bound_text(end: float | None, unit: Unit) -> str:
    return "" if end is None else number_text(end, unit)


def _quoted(text: str) -> str:
    return '"' + re.sub(r'["\\]', r"\\\g<0>", text) + '"'


def _escaped(text: str) -> str:
    """Escape a text between quotes where a star would be a wildcard."""
    return re.sub(r'["\\*]', r"\\\g<0>", text)


def literal(text: str) -> str:
    """Return a complete value in quotes, for the colon of a choice: nothing in it is special."""
    return f'"{_escaped(text)}"'
