"""Translate a query into SQL: a tree becomes a condition on rows of its level.

`agents.logs.store.levels` maps the fields to the tables. Names (agents, models, tools, …) are compared
folded, over the small tables they are interned in; words go to the search index. `agents.query.fields`
defines the meaning of a term. The tests compare this module with an oracle: the same language over
records in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any, assert_never

from django.db.models import Q, Value
from django.db.models.lookups import (
    Exact,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)

from agents.base.access import Actor
from agents.logs.store.conditions import EVERYTHING, NOTHING
from agents.logs.store.levels import agents, related_keys, responses, sessions, steps, turns
from agents.logs.store.levels.relations import QueryContext, count_below, is_below, rows_with, rows_with_end
from agents.logs.store.levels.shared_terms import Terms
from agents.query import fields
from agents.query.fields import QueryField
from agents.query.tree import And, Comparison, Count, FieldTerm, FreeText, Level, LevelScope, Node, Not, Or, Query
from agents.record.store.search import KeyRange

_TERMS: dict[Level, Terms] = {
    "agent": agents.TERMS,
    "session": sessions.TERMS,
    "turn": turns.TERMS,
    "response": responses.TERMS,
    "step": steps.TERMS,
}


def add_field(field: QueryField, terms: Mapping[Level, Terms], presence: str = "") -> None:
    """Let queries use a field of another subject: ``terms`` are its conditions by level and name, ``presence`` is
    another name of it behind ``has:``. Its values are in tables of their own."""
    fields.add_field(field, presence)
    related_keys.OTHER_TABLES.add(field.name)
    for level in field.levels:
        _TERMS[level][field.name] = terms[level][field.name]


_COMPARE: dict[Comparison, Callable[[Any, Any], Any]] = {
    "=": Exact,
    "!=": Exact,
    ">": GreaterThan,
    ">=": GreaterThanOrEqual,
    "<": LessThan,
    "<=": LessThanOrEqual,
}


def condition(
    query: Query,
    actor: Actor,
    only: Sequence[int] | None = None,
    *,
    within: Mapping[Level, KeyRange] | None = None,
) -> Q:
    """Return the condition of a query on rows of its level; of rows below them only those count that the actor
    may see. ``only`` are the turns, ``within`` the keys by level, that the caller limits the rows to. Raises
    Unavailable when reading JSON takes too long."""
    turns = None if only is None else tuple(only)
    return _condition(query.tree, query.level, QueryContext(actor, query.level, turns, within))


def _condition(node: Node, at: Level, context: QueryContext) -> Q:
    match node:
        case And():
            return reduce(and_, (_condition(inner, at, context) for inner in node.nodes), EVERYTHING)
        case Or():
            return reduce(or_, (_condition(inner, at, context) for inner in node.nodes))
        case Not():
            return ~_condition(node.node, at, context)
        case FreeText():
            return _term(FieldTerm(field=fields.FREE_TEXT, op="contains", value=node.words), at, context)
        case LevelScope():
            return _scope(node, at, context)
        case Count():
            return _count(node, at, context)
        case FieldTerm():
            return _term(node, at, context)
        case _:
            assert_never(node)


def _term(node: FieldTerm, at: Level, context: QueryContext) -> Q:
    if node.field in _TERMS[at]:
        return _TERMS[at][node.field](node, context)
    level = fields.level_of(fields.FIELDS[node.field], at)
    return rows_with(at, level, _TERMS[level][node.field](node, context.for_level(at, level)), context)


def _scope(scope: LevelScope, at: Level, context: QueryContext) -> Q:
    inner = _condition(scope.node, scope.level, context.for_level(at, scope.level))
    match scope.quantifier:
        case "any":
            return rows_with(at, scope.level, inner, context)
        case "no":
            return ~rows_with(at, scope.level, inner, context)
        case "all":
            return ~rows_with(at, scope.level, ~inner, context)
        case "first" | "last":
            return rows_with_end(at, scope.level, inner, context, last=scope.quantifier == "last")
        case _:
            assert_never(scope.quantifier)


def _count(count: Count, at: Level, context: QueryContext) -> Q:
    """Compare a count of related rows. A level above, or the row's own, has one row or none."""
    inner = _condition(count.node, count.level, context.for_level(at, count.level))
    if is_below(count.level, at):
        matching = Q(_COMPARE[count.op](count_below(at, count.level, inner, context), Value(count.value)))
        return ~matching if count.op == "!=" else matching
    exists = rows_with(at, count.level, inner, context)
    if_exists = exists if count.accepts(1) else NOTHING
    return (if_exists | ~exists) if count.accepts(0) else if_exists
