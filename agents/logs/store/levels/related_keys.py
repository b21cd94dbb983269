"""Find the keys of the rows above and below some rows of a level, so that a condition on those need not
look at all rows of their level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Max, Min

from agents.logs.store.levels.relations import MODELS, among, is_below
from agents.query import fields
from agents.query.tree import Count, FieldTerm, FreeText, Level, LevelScope, Node, Not, Query
from agents.record.models.turns import Step, Turn
from agents.record.store.search import KeyRange

MAX_KEYS = 2_000
"""KeyRange that are listed one by one; of more only the first and the last."""
OTHER_TABLES = {"tag", "env", "meta", "prompt", "session", "is", "attachment"}
"""Fields whose values are in other tables; subjects add theirs."""


def is_plain(query: Query) -> bool:
    """Whether a query needs nothing but columns of its own rows."""
    return not any(
        level != query.level or any(searches_text(leaf) or leaf.field in OTHER_TABLES for leaf in terms)
        for level, terms in _levels_in(query.tree, query.level)
    )


def levels(query: Query) -> frozenset[Level]:
    """Return the other levels whose related keys make a query faster: all levels above, and those
    below whose documents it searches."""
    return frozenset(
        level
        for level, terms in _levels_in(query.tree, query.level)
        if level != query.level and (not is_below(level, query.level) or any(map(searches_text, terms)))
    )


def searches_text(leaf: FieldTerm) -> bool:
    """Whether a condition searches for words."""
    return fields.FIELDS[leaf.field].kind in ("text", "data")


def _levels_in(node: Node, at: Level) -> Iterator[tuple[Level, list[FieldTerm]]]:
    """Yield the levels that the conditions of a query look at, each with its terms."""
    match node:
        case FreeText():
            yield from _levels_in(FieldTerm(field=fields.FREE_TEXT, op="contains", value=node.words), at)
        case FieldTerm():
            yield fields.level_of(fields.FIELDS[node.field], at), [node]
        case LevelScope() | Count():
            yield node.level, [term for _, terms in _levels_in(node.node, node.level) for term in terms]
        case Not():
            yield from _levels_in(node.node, at)
        case _:
            for inner in node.nodes:
                yield from _levels_in(inner, at)


def related(level: Level, keys: KeyRange, others: frozenset[Level]) -> Mapping[Level, KeyRange]:
    """Return by level the keys that belong to rows of a level, and those of the rows themselves."""
    by_level: dict[Level, KeyRange] = {level: keys}
    if not others or (others == {"agent"} and level in ("session", "turn")):  # they name it themselves
        return by_level
    if level != "turn":
        by_level["turn"] = _turns(level, keys)
    if "session" in others:
        turns = Turn.objects.unscoped("what belongs to rows that are asked for").filter(among(by_level["turn"]))
        by_level["session"] = _keys(turns, "session_id", keys)
    if "step" in others:
        steps = Step.objects.unscoped("what belongs to rows that are asked for").filter(
            among(by_level["turn"], "turn_id")
        )
        by_level["step"] = _keys(steps, "pk", keys)
    return by_level


def _turns(level: Level, keys: KeyRange) -> KeyRange:
    if level == "session":
        return _keys(
            Turn.objects.unscoped("what belongs to rows that are asked for").filter(among(keys, "session_id")),
            "pk",
            keys,
        )
    return _keys(
        MODELS[level].objects.unscoped("what belongs to rows that are asked for").filter(among(keys)), "turn_id", keys
    )


def _keys(rows: Any, column: str, row_keys: KeyRange) -> KeyRange:
    """Return the values of a column: all where they are few, else the range from the first to the last."""
    if row_keys.among is not None:
        values = tuple(rows.order_by().values_list(column, flat=True).distinct()[: MAX_KEYS + 1])
        if len(values) <= MAX_KEYS:
            return KeyRange(among=values)
    low, high = rows.aggregate(low=Min(column), high=Max(column)).values()
    return KeyRange(among=()) if low is None else KeyRange(low, high + 1)
