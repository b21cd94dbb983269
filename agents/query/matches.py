"""Whether a record matches a query: the oracle that the store's SQL is held against. Live lists ask
the store itself.

Absent is None, the empty text, the empty list. An absent value matches no term, so its negation
does: ``-env:dev`` accepts rows without ``env``, ``env:!=dev`` does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any, assert_never

from agents.base.tokenizer import fold, index_text
from agents.query.fields import FIELDS, FREE_TEXT, Field, bare_id, is_id, level_of
from agents.query.record import Record, Row
from agents.query.tree import (
    EVERY,
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
    Query,
    Scope,
    Term,
    Text,
    Value,
    Whole,
    Words,
)

_COMPARE = {"=": eq, "!=": eq, ">": gt, ">=": ge, "<": lt, "<=": le}


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
        case Scope():
            return _scope_holds(node, row)
        case Count():
            found = sum(_holds(node.node, each) for each in row.at(node.level))
            return compared(found, node)
        case Term():
            return _some(node, row)
        case Text():
            return _some(Term(field=FREE_TEXT, op="contains", value=node.words), row)
        case _:
            assert_never(node)


def compared(found: int, count: Count) -> bool:
    """Whether a count is as asked."""
    return bool(_COMPARE[count.op](found, count.value)) != (count.op == "!=")


def _scope_holds(scope: Scope, row: Row) -> bool:
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


def _some(term: Term, row: Row) -> bool:
    """Whether the term holds of some row of its field's level, or, of a deep field, of one below that."""
    field = FIELDS[term.field]
    level = level_of(field, row.level)
    return any(_fits(term, field, each, level) for each in row.at(level))


def _fits(term: Term, field: Field, row: Row, level: Level) -> bool:
    """A deep field is one value of all rows that hold a part of it."""
    below = [deeper for deeper in LEVELS[LEVELS.index(level) + 1 :] if deeper in field.columns] if field.deep else []
    parts = [(row.record, level), *((each.record, deeper) for deeper in below for each in row.at(deeper))]
    present = [value for record, at in parts for value in _values(field, term.path, record, at)]
    if term.op == "has":
        return bool(present)
    accepted = any(_accepts(term, field, column, value) for column, value in present)
    return bool(present) and not accepted if term.op == "!=" else accepted


def _values(field: Field, path: tuple[str | int, ...], record: Record, level: Level) -> Iterator[tuple[str, Any]]:
    """The columns of a field with the values they hold, absent ones left out."""
    for column in field.columns[level]:
        value = getattr(record, column)
        held = inside(value, path) if field.keyed else value if field.many else (value,)
        for each in held:
            if each is not None and (each != "" or field.keyed):
                yield column, each


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


def _accepts(term: Term, field: Field, column: str, value: Any) -> bool:
    """Whether one present value is as the term says; for ``!=``, whether it is what it must not be."""
    if field.kind == "data":
        return fits_data(term.op, term.value, value)
    match term.value:
        case Words() as words:
            return contains(value, words) if term.op == "contains" else index_text(value) == index_text(words.text)
        case Whole(text=text):
            return bare_id(value) == bare_id(text) if is_id(column) else _same(value, text)
        case Pattern() as pattern:
            return not is_id(column) and isinstance(_plain(value), str) and pattern.fits(_plain(value) or "")
        case Number(value=number):
            return bool(_COMPARE[term.op](value, number))
        case Numbers(low=low, high=high):
            return (low is None or value >= low) and (high is None or value <= high)
        case Period(low_us=low, high_us=high):
            return (low is None or value >= low) and (high is None or value < high)
        case Flag(value=flag):
            return bool(value == flag)
        case None:
            raise AssertionError("only 'has' has no value")
        case _:
            assert_never(term.value)


def fits_data(op: Op, wanted: Value | None, value: Any) -> bool:
    """Whether a value of JSON is as a term on data says; a list or an object is like nothing."""
    plain = _plain(value)
    match wanted:
        case None:
            return value is not None
        case _ if plain is None:
            return False
        case Words():
            return contains(plain, wanted)
        case Whole(text=text):
            return fold(plain) == fold(text)
        case Pattern():
            return wanted.fits(plain)
        case Number(value=number):
            return _is_number(value) and bool(_COMPARE[op](value, number))
        case Numbers(low=low, high=high):
            return _is_number(value) and (low is None or value >= low) and (high is None or value <= high)
        case _:
            return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def contains(text: str, words: Words) -> bool:
    """Whether the words stand next to each other in the text; or its letters, anywhere."""
    if words.inside:
        return index_text(words.text) in index_text(text)
    end = "" if words.prefix else " "
    return f" {index_text(words.text)}{end}" in f" {index_text(text)} "


def _same(value: Any, text: str) -> bool:
    plain = _plain(value)
    return plain is not None and fold(plain) == fold(text)


def _plain(value: Any) -> str | None:
    """A JSON scalar as text; None for lists and objects, which equal nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
