"""Whether a record matches a query: the oracle that the store's SQL is held against, and the quick
path of live lists.

Absent is None, the empty text, the empty list. An absent value matches no term, so its negation
does: ``-env:dev`` accepts rows without ``env``, ``env:!=dev`` does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import Any, assert_never

from agents.query.fields import FIELDS, FREE_TEXT, Field, bare_id, is_id, level_of
from agents.query.record import Record, StepRecord, TurnRecord
from agents.query.tokens import fold, index_text
from agents.query.tree import (
    And,
    Flag,
    Level,
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
    Whole,
    Words,
)

_COMPARE = {"=": eq, "!=": eq, ">": gt, ">=": ge, "<": lt, "<=": le}


@dataclass(frozen=True, slots=True)
class _Row:
    """A turn, or one of its steps."""

    turn: TurnRecord
    step: StepRecord | None = None

    @property
    def level(self) -> Level:
        return "turn" if self.step is None else "step"

    @property
    def record(self) -> Record:
        return self.turn if self.step is None else self.step

    def at(self, level: Level) -> Sequence[_Row]:
        """The rows of a level under this one, above it, or itself."""
        if level == "turn":
            return (_Row(self.turn),)
        if level == "step":
            return (self,) if self.step else [_Row(self.turn, step) for step in self.turn.steps]
        raise ValueError(f"records hold no {level}")


def matches(query: Query, turn: TurnRecord, step: StepRecord | None = None) -> bool:
    """Whether the turn matches, or, for a query over steps, this ``step`` of it."""
    if (query.level == "step") != (step is not None) or query.level not in ("turn", "step"):
        raise ValueError(f"a query over {query.level}s needs a {query.level}")
    return _holds(query.tree, _Row(turn, step))


def _holds(node: Node, row: _Row) -> bool:
    match node:
        case And():
            return all(_holds(inner, row) for inner in node.nodes)
        case Or():
            return any(_holds(inner, row) for inner in node.nodes)
        case Not():
            return not _holds(node.node, row)
        case Scope():
            return _scope_holds(node, row)
        case Term():
            return _some(node, row)
        case Text():
            return _some(Term(field=FREE_TEXT, op="contains", value=node.words), row)
        case _:
            assert_never(node)


def _scope_holds(scope: Scope, row: _Row) -> bool:
    found = (_holds(scope.node, each) for each in row.at(scope.level))
    match scope.quantifier:
        case "any":
            return any(found)
        case "all":
            return all(found)
        case "no":
            return not any(found)
        case _:
            assert_never(scope.quantifier)


def _some(term: Term, row: _Row) -> bool:
    """Whether the term holds of some row of its field's level."""
    field = FIELDS[term.field]
    level = level_of(field, row.level)
    return any(_fits(term, field, each.record, level) for each in row.at(level))


def _fits(term: Term, field: Field, record: Record, level: Level) -> bool:
    present = list(_values(field, term.path, record, level))
    if term.op == "has":
        return bool(present)
    accepted = any(_accepts(term, column, value) for column, value in present)
    return bool(present) and not accepted if term.op == "!=" else accepted


def _values(field: Field, path: tuple[str | int, ...], record: Record, level: Level) -> Iterator[tuple[str, Any]]:
    """The columns of a field with the values they hold, absent ones left out."""
    for column in field.columns[level]:
        value = getattr(record, column)
        if field.keyed:
            value = _inside(value, path)
        for each in value if field.many else (value,):
            if each is not None and (each != "" or field.keyed):
                yield column, each


def _inside(value: Any, path: tuple[str | int, ...]) -> Any:
    """What lies at a path in decoded JSON; None when nothing does."""
    for step in path:
        if isinstance(value, Mapping) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _accepts(term: Term, column: str, value: Any) -> bool:
    """Whether one present value is as the term says; for ``!=``, whether it is what it must not be."""
    match term.value:
        case Words() as words:
            return _contains(value, words) if term.op == "contains" else index_text(value) == index_text(words.text)
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


def _contains(text: str, words: Words) -> bool:
    """Whether the words stand next to each other in the text."""
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
