"""The SQL face of the query language: a tree becomes a condition on rows of its level.

What each field is in the tables stands in `agents.logs.store.levels`. Names (agents, models, tools, …) are
compared folded, over the small tables they are interned in; words go to the search index. What a term
means is the table of fields' business (`agents.query.fields`). The tests hold this module against an
oracle: the same language over records in memory.
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
from agents.logs.store.levels import agents, responses, sessions, steps, turns
from agents.logs.store.levels.relations import Sight, end, is_below, number, some
from agents.logs.store.levels.shared_terms import Terms
from agents.query import fields
from agents.query.tree import And, Comparison, Count, FieldTerm, FreeText, Level, LevelScope, Node, Not, Or, Query
from agents.record.store.search import Keys

_TERMS: dict[Level, Terms] = {
    "agent": agents.TERMS,
    "session": sessions.TERMS,
    "turn": turns.TERMS,
    "response": responses.TERMS,
    "step": steps.TERMS,
}
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
    within: Mapping[Level, Keys] | None = None,
) -> Q:
    """The condition of a query on rows of its level, as far as the actor sees what is above and below
    them. ``only`` are the turns in question, ``within`` the keys of rows and of what belongs to them,
    where the caller looks at no others. Raises Unavailable when looking into JSON takes too long."""
    turns = None if only is None else tuple(only)
    return _condition(query.tree, query.level, Sight(actor, query.level, turns, within))


def _condition(node: Node, at: Level, sight: Sight) -> Q:
    match node:
        case And():
            return reduce(and_, (_condition(inner, at, sight) for inner in node.nodes), EVERYTHING)
        case Or():
            return reduce(or_, (_condition(inner, at, sight) for inner in node.nodes))
        case Not():
            return ~_condition(node.node, at, sight)
        case FreeText():
            return _term(FieldTerm(field=fields.FREE_TEXT, op="contains", value=node.words), at, sight)
        case LevelScope():
            return _scope(node, at, sight)
        case Count():
            return _count(node, at, sight)
        case FieldTerm():
            return _term(node, at, sight)
        case _:
            assert_never(node)


def _term(node: FieldTerm, at: Level, sight: Sight) -> Q:
    if node.field in _TERMS[at]:
        return _TERMS[at][node.field](node, sight)
    level = fields.level_of(fields.FIELDS[node.field], at)
    return some(at, level, _TERMS[level][node.field](node, sight.towards(at, level)), sight)


def _scope(scope: LevelScope, at: Level, sight: Sight) -> Q:
    inner = _condition(scope.node, scope.level, sight.towards(at, scope.level))
    match scope.quantifier:
        case "any":
            return some(at, scope.level, inner, sight)
        case "no":
            return ~some(at, scope.level, inner, sight)
        case "all":
            return ~some(at, scope.level, ~inner, sight)
        case "first" | "last":
            return end(at, scope.level, inner, sight, last=scope.quantifier == "last")
        case _:
            assert_never(scope.quantifier)


def _count(count: Count, at: Level, sight: Sight) -> Q:
    """A level above, or the row's own, has one row or none."""
    inner = _condition(count.node, count.level, sight.towards(at, count.level))
    if is_below(count.level, at):
        found = Q(_COMPARE[count.op](number(at, count.level, inner, sight), Value(count.value)))
        return ~found if count.op == "!=" else found
    there = some(at, count.level, inner, sight)
    one = there if count.accepts(1) else NOTHING
    return (one | ~there) if count.accepts(0) else one
