"""Where one of the conditions that must all hold lets through but few rows, and an index names them,
these are all that need be looked at."""

from __future__ import annotations

from typing import Any

from django.db.models.expressions import RawSQL

from agents.base.access import Actor
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import listed
from agents.logs.store.levels import agents, json_values, sessions, shared_terms, steps, turns
from agents.logs.store.levels.relations import MODELS, Sight
from agents.query import fields
from agents.query.tree import Count, FieldTerm, FreeText, Level, LevelScope, Node, Query, SearchPhrase, conjuncts
from agents.record.models.agents import Session
from agents.record.models.tags import SessionTag, StepTag, TurnTag
from agents.record.models.turns import Turn
from agents.record.store import search

MOST, WORDED, ENOUGH = 5_000, 2_000, 100
"""Rows that are few; documents that hold a word; so few that no fewer are looked for."""
_ROWS = 20_000
"""Rows of the list that belong to them."""
_TERMS: dict[Level, shared_terms.Terms] = {
    "agent": agents.TERMS,
    "session": sessions.TERMS,
    "turn": turns.TERMS,
    "step": steps.TERMS,
}
TAGGED: dict[str, tuple[TermKind, Any]] = {
    "tag": (TermKind.TAG, lambda node: ""),
    "env": (TermKind.META, lambda node: "env="),
    "meta": (TermKind.META, shared_terms.meta_start),
}
_INDEXED: dict[Level, frozenset[str]] = {
    "agent": frozenset({"id", "agent"}),
    "session": frozenset({"id", "agent", "session"}),
    "turn": frozenset({"id", "turn", "agent", "session", "model", "status", "user"}),
    "step": frozenset({"id", "tool"}),
}
"""Fields whose columns have an index, those of most use first."""
_TAGS: dict[Level, Any] = {"session": SessionTag, "turn": TurnTag, "step": StepTag}
_DATA = frozenset({"args", "result"})
_PARTS: dict[str, tuple[str, ...]] = {fields.FREE_TEXT: (), "in": ("input",), "out": ("output",)}


Found = tuple[Level, list[int] | None]


def rows(actor: Actor, query: Query) -> list[int] | None:
    """Keys of the query's level, newest first, besides which it accepts none; None where they are many."""
    sight = Sight(actor, query.level)
    best: list[int] | None = None
    for node in conjuncts(query.tree):
        found = _at(query.level, *_named(node, query.level, sight))
        if found is not None and (best is None or len(found) < len(best)):
            best = found
        if best is not None and len(best) <= ENOUGH:
            break
    return None if best is None else sorted(best, reverse=True)


def _named(node: Node, at: Level, sight: Sight) -> Found:
    """A level, and the keys of all its rows that a condition on rows of ``at`` lets through or speaks of,
    where an index names them and they are few."""
    match node:
        case FreeText():
            return _term(FieldTerm(field=fields.FREE_TEXT, op="contains", value=node.words), at, sight)
        case FieldTerm(op="=" | "contains"):
            return _term(node, at, sight)
        case LevelScope(quantifier="any" | "first" | "last"):
            return _inside(node, sight)
        case Count() if not node.accepts(0):
            return _inside(node, sight)
        case _:
            return at, None


def _inside(node: LevelScope | Count, sight: Sight) -> Found:
    """The rows that are spoken of: those that any of its conditions leaves."""
    found = [_at(node.level, *_named(inner, node.level, sight)) for inner in conjuncts(node.node)]
    few = [keys for keys in found if keys is not None]
    return node.level, min(few, key=len) if few else None


def _term(node: FieldTerm, at: Level, sight: Sight) -> Found:
    level = fields.level_of(fields.FIELDS[node.field], at)
    own = at if at in _TERMS and node.field in _TERMS[at] else level
    if node.field in _DATA:
        return own, _in_data(node)
    if isinstance(node.value, SearchPhrase):
        return own, _worded(node, node.value, own, sight)
    if node.field in TAGGED and own in _TAGS:
        return own, _tagged(node, own)
    if node.field not in _INDEXED.get(own, ()):
        return own, None
    found = MODELS[own].objects.unscoped("narrowed by what is asked for").filter(_TERMS[own][node.field](node, sight))
    return own, _capped(found, "pk", MOST)


def _worded(node: FieldTerm, words: SearchPhrase, level: Level, sight: Sight) -> list[int] | None:
    if words.inside or node.op != "contains" or node.field not in _PARTS or level not in ("turn", "step"):
        return None
    parts = _PARTS[node.field]
    found = _newest(search.containing("turn" if level == "turn" else "step", words, parts))
    if found is None or level == "step" or parts:
        return found
    return [*found, *turns.asked_by_step(words, sight)]


def _newest(documents: RawSQL) -> list[int] | None:
    found = search.newest(documents, WORDED + 1)
    return found if len(found) <= WORDED else None


def _in_data(node: FieldTerm) -> list[int] | None:
    """The steps that hold all the words that a term on data speaks of."""
    needed = json_values.needed(node)
    return _newest(search.holding("step", needed, node.field)) if needed else None


def _tagged(node: FieldTerm, level: Level) -> list[int] | None:
    kind, start = TAGGED[node.field]
    found = _TAGS[level].objects.filter(term_id__in=shared_terms.numbers(kind, start(node), node))
    return _capped(found, f"{level}_id", MOST)


def _at(at: Level, level: Level, keys: list[int] | None) -> list[int] | None:
    """The rows of ``at`` that are, have or belong to rows of these keys."""
    while keys is not None and level != at:
        model, by, column, level = _hop(level, at)
        found = model.objects.unscoped("narrowed by what is asked for").filter(**{f"{by}__in": listed(keys)})
        keys = _capped(found, column, _ROWS)
    return keys


def _hop(level: Level, at: Level) -> tuple[Any, str, str, Level]:
    """One step from a level to another: whose rows, found by which column, have in which column the
    keys of which level."""
    match level, at:
        case "agent", "session":
            return Session, "agent_id", "pk", "session"
        case "session", "agent":
            return Session, "pk", "agent_id", "agent"
        case "agent" | "session", _:
            return Turn, f"{level}_id", "pk", "turn"
        case "turn", "agent" | "session":
            return Turn, "pk", f"{at}_id", at
        case "turn", _:
            return MODELS[at], "turn_id", "pk", at
        case _:
            return MODELS[level], "pk", "turn_id", "turn"


def _capped(rows: Any, column: str, most: int) -> list[int] | None:
    there = rows.filter(**{f"{column}__isnull": False}).order_by()
    found = list(there.values_list(column, flat=True).distinct()[: most + 1])
    return found if len(found) <= most else None
