"""Find a short list of candidate rows: where an index shows that one of the conditions that must all hold
accepts only few rows, no others need be looked at."""

from __future__ import annotations

from typing import Any

from django.db.models.expressions import RawSQL

from agents.base.access import Actor
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import key_list
from agents.logs.store.levels import agents, json_values, sessions, shared_terms, steps, turns
from agents.logs.store.levels.relations import MODELS, QueryContext
from agents.query import fields
from agents.query.tree import (
    Count,
    ExactValue,
    FieldTerm,
    FreeText,
    Level,
    LevelScope,
    Node,
    Query,
    SearchPhrase,
    conjuncts,
)
from agents.record.models.agents import Session
from agents.record.models.tags import SessionTag, StepTag, TurnTag
from agents.record.models.turns import Turn
from agents.record.store import search

MAX_ROWS, MAX_DOCUMENTS, FEW_ROWS = 5_000, 2_000, 100
"""Rows that still count as few; documents that hold a word; rows so few that the search for fewer ends."""
_MAX_RELATED = 20_000
"""Rows of the list that belong to the candidates of another level."""
_TERMS: dict[Level, shared_terms.Terms] = {
    "agent": agents.TERMS,
    "session": sessions.TERMS,
    "turn": turns.TERMS,
    "step": steps.TERMS,
}
TAG_FIELDS: dict[str, tuple[TermKind, Any]] = {
    "tag": (TermKind.TAG, lambda node: ""),
    "env": (TermKind.META, lambda node: "env="),
    "meta": (TermKind.META, shared_terms.metadata_prefix),
    "prompt": (TermKind.PROMPT, lambda node: ""),
}
_INDEXED: dict[Level, frozenset[str]] = {
    "agent": frozenset({"id", "agent"}),
    "session": frozenset({"id", "agent", "session"}),
    "turn": frozenset({"id", "turn", "agent", "session", "model", "status", "user", "caller"}),
    "step": frozenset({"id", "tool"}),
}
"""Fields whose columns have an index, the most selective first."""
_TAGS: dict[Level, Any] = {"session": SessionTag, "turn": TurnTag, "step": StepTag}
_DATA = frozenset({"args", "result"})
_PARTS: dict[str, tuple[str, ...]] = {fields.FREE_TEXT: (), "in": ("input",), "out": ("output",)}


LevelKeys = tuple[Level, list[int] | None]


def rows(actor: Actor, query: Query) -> list[int] | None:
    """Return the keys of all rows the query can accept, newest first; None where they are many."""
    context = QueryContext(actor, query.level)
    best: list[int] | None = None
    for node in conjuncts(query.tree):
        keys = _related(query.level, *_candidates(node, query.level, context))
        if keys is not None and (best is None or len(keys) < len(best)):
            best = keys
        if best is not None and len(best) <= FEW_ROWS:
            break
    return None if best is None else sorted(best, reverse=True)


def _candidates(node: Node, at: Level, context: QueryContext) -> LevelKeys:
    """Return a level, and the keys of all its rows that a condition on rows of ``at`` can accept or refer to;
    None for the keys where no index has them or they are many."""
    match node:
        case FreeText():
            return _term(FieldTerm(field=fields.FREE_TEXT, op="contains", value=node.words), at, context)
        case FieldTerm(op="=" | "contains"):
            return _term(node, at, context)
        case LevelScope(quantifier="any" | "first" | "last"):
            return _in_scope(node, context)
        case Count() if not node.accepts(0):
            return _in_scope(node, context)
        case _:
            return at, None


def _in_scope(node: LevelScope | Count, context: QueryContext) -> LevelKeys:
    """Return the shortest list that a condition inside the scope leaves of its level."""
    candidates = [_related(node.level, *_candidates(inner, node.level, context)) for inner in conjuncts(node.node)]
    short_lists = [keys for keys in candidates if keys is not None]
    return node.level, min(short_lists, key=len) if short_lists else None


def _term(node: FieldTerm, at: Level, context: QueryContext) -> LevelKeys:
    level = fields.level_of(fields.FIELDS[node.field], at)
    own = at if at in _TERMS and node.field in _TERMS[at] else level
    if node.field in _DATA:
        return own, _by_json(node)
    if isinstance(node.value, SearchPhrase):
        return own, _by_text(node, node.value, own, context)
    if node.field in TAG_FIELDS and own in _TAGS:
        return own, _by_tag(node, own)
    if node.field not in _INDEXED.get(own, ()) and not (own in _TERMS and _is_undecided(node)):
        return own, None
    matching = (
        MODELS[own].objects.unscoped("narrowed by what is asked for").filter(_TERMS[own][node.field](node, context))
    )
    return own, _capped(matching, "pk", MAX_ROWS)


def _is_undecided(node: FieldTerm) -> bool:
    """Whether a term accepts only rows of the few turns that wait for a decision: they have an index of their own."""
    return node.field == "is" and isinstance(node.value, ExactValue) and node.value.text == "undecided"


def _by_text(node: FieldTerm, phrase: SearchPhrase, level: Level, context: QueryContext) -> list[int] | None:
    if phrase.inside or node.op != "contains" or node.field not in _PARTS or level not in ("turn", "step"):
        return None
    parts = _PARTS[node.field]
    keys = _newest(search.containing("turn" if level == "turn" else "step", phrase, parts))
    if keys is None or level == "step" or parts:
        return keys
    return [*keys, *turns.found_in_steps(phrase, context)]


def _newest(documents: RawSQL) -> list[int] | None:
    keys = search.newest(documents, MAX_DOCUMENTS + 1)
    return keys if len(keys) <= MAX_DOCUMENTS else None


def _by_json(node: FieldTerm) -> list[int] | None:
    """Return the steps that hold all words of a term on JSON."""
    needed = json_values.required_texts(node)
    return _newest(search.holding("step", needed, node.field)) if needed else None


def _by_tag(node: FieldTerm, level: Level) -> list[int] | None:
    kind, start = TAG_FIELDS[node.field]
    tags = _TAGS[level].objects.filter(term_id__in=shared_terms.matching_terms(kind, start(node), node))
    return _capped(tags, f"{level}_id", MAX_ROWS)


def _related(at: Level, level: Level, keys: list[int] | None) -> list[int] | None:
    """Return the rows of ``at`` that are, contain or belong to rows of these keys."""
    if keys is None or {level, at} != {"agent", "step"}:
        return _by_hops(at, level, keys)
    inherited = _by_hops(at, level, keys)  # from or to the agents of turns
    if inherited is None:
        return None
    by, column = ("agent_id", "pk") if at == "step" else ("pk", "agent_id")
    steps = MODELS["step"].objects.unscoped("narrowed by what is asked for").filter(**{f"{by}__in": key_list(keys)})
    own = _capped(steps, column, _MAX_RELATED)
    return None if own is None else [*{*inherited, *own}]


def _by_hops(at: Level, level: Level, keys: list[int] | None) -> list[int] | None:
    while keys is not None and level != at:
        model, by, column, level = _hop(level, at)
        next_rows = model.objects.unscoped("narrowed by what is asked for").filter(**{f"{by}__in": key_list(keys)})
        keys = _capped(next_rows, column, _MAX_RELATED)
    return keys


def _hop(level: Level, at: Level) -> tuple[Any, str, str, Level]:
    """Return one hop on the way from a level to another: the model to read, the column to filter by, the
    column with the keys of the next level, and that level."""
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


def _capped(rows: Any, column: str, limit: int) -> list[int] | None:
    present = rows.filter(**{f"{column}__isnull": False}).order_by()
    values = list(present.values_list(column, flat=True).distinct()[: limit + 1])
    return values if len(values) <= limit else None
