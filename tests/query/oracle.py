"""The oracle of the query language: a second, plain implementation over records in memory, which the
store's SQL must agree with.

Absent is None, the empty text, the empty list. An absent value matches no term, so its negation
does: ``-env:dev`` accepts rows without ``env``, ``env:!=dev`` does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from agents.base.tokenizer import fold, index_text
from agents.query.comparison import COMPARE, contains_phrase, json_value_matches, scalar_text, values_at
from agents.query.fields import FIELDS, FREE_TEXT, QueryField, canonical_id, level_of
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
    Or,
    Pattern,
    Period,
    Query,
    SearchPhrase,
)
from tests.query.columns import COLUMNS, is_id
from tests.query.records import Record, Row


def matches(query: Query, row: Row) -> bool:
    """Whether a row of the query's level matches."""
    if query.level != row.level:
        raise ValueError(f"a query over {query.level}s needs a {query.level}")
    return _holds(query.tree, row)


def _holds(node: Node, row: Row) -> bool:
    match node:
        case And():
            return all(_holds(inner, row) for inner in node.nodes)
        case Or():
            return any(_holds(inner, row) for inner in node.nodes)
        case Not():
            return not _holds(node.node, row)
        case LevelScope():
            return _scope_holds(node, row)
        case Count():
            found = sum(_holds(node.node, each) for each in row.at(node.level))
            return node.accepts(found)
        case FieldTerm():
            return _some(node, row)
        case FreeText():
            return _some(FieldTerm(field=FREE_TEXT, op="contains", value=node.words), row)
        case _:
            assert_never(node)


def _scope_holds(scope: LevelScope, row: Row) -> bool:
    rows = row.at(scope.level)
    match scope.quantifier:
        case "any":
            return any(_holds(scope.node, each) for each in rows)
        case "all":
            return all(_holds(scope.node, each) for each in rows)
        case "no":
            return not any(_holds(scope.node, each) for each in rows)
        case "first":
            return bool(rows) and _holds(scope.node, rows[0])
        case "last":
            return bool(rows) and _holds(scope.node, rows[-1])
        case _:
            assert_never(scope.quantifier)


def _some(term: FieldTerm, row: Row) -> bool:
    """Whether the term holds of some row of its field's level, or, of a deep field, of one below that."""
    field = FIELDS[term.field]
    level = level_of(field, row.level)
    return any(_fits(term, field, each, level) for each in row.at(level))


def _fits(term: FieldTerm, field: QueryField, row: Row, level: Level) -> bool:
    """A deep field is one value of all rows that hold a part of it."""
    below = [deeper for deeper in LEVELS[LEVELS.index(level) + 1 :] if deeper in field.levels] if field.deep else []
    parts = [(row.record, level), *((each.record, deeper) for deeper in below for each in row.at(deeper))]
    present = [value for record, at in parts for value in _values(field, term.path, record, at)]
    if term.op == "has":
        return bool(present)
    accepted = any(_accepts(term, field, column, value) for column, value in present)
    return bool(present) and not accepted if term.op == "!=" else accepted


def _values(field: QueryField, path: tuple[str | int, ...], record: Record, level: Level) -> Iterator[tuple[str, Any]]:
    """The columns of a field with the values they hold, absent ones left out."""
    for column in COLUMNS[field.name][level]:
        value = getattr(record, column)
        held = values_at(value, path) if field.keyed else value if field.many else (value,)
        for each in held:
            if each is not None and (each != "" or field.keyed):
                yield column, each


def _accepts(term: FieldTerm, field: QueryField, column: str, value: Any) -> bool:
    """Whether one present value is as the term says; for ``!=``, whether it is what it must not be."""
    if field.kind == "data":
        return json_value_matches(term.op, term.value, value)
    match term.value:
        case SearchPhrase() as words:
            return (
                contains_phrase(value, words) if term.op == "contains" else index_text(value) == index_text(words.text)
            )
        case ExactValue(text=text):
            return canonical_id(value) == canonical_id(text) if is_id(column) else _same(value, text)
        case Pattern() as pattern:
            return (
                not is_id(column) and isinstance(scalar_text(value), str) and pattern.matches(scalar_text(value) or "")
            )
        case Number(value=number):
            return bool(COMPARE[term.op](value, number))
        case NumberRange(low=low, high=high):
            return (low is None or value >= low) and (high is None or value <= high)
        case Period(low_us=low, high_us=high):
            return (low is None or value >= low) and (high is None or value < high)
        case Flag(value=flag):
            return bool(value == flag)
        case None:
            raise AssertionError("only 'has' has no value")
        case _:
            assert_never(term.value)


def _same(value: Any, text: str) -> bool:
    own = scalar_text(value)
    return own is not None and fold(own) == fold(text)
