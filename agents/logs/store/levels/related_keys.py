"""What belongs to some rows of a level: the keys of what is above and below them, so that a condition
on those need not look at all there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Max, Min

from agents.logs.store.levels.relations import MODELS, among, is_below
from agents.query import fields
from agents.query.tree import Count, FieldTerm, FreeText, Level, LevelScope, Node, Not, Query
from agents.record.models.turns import Step, Turn
from agents.record.store.search import Keys

MOST = 2_000
"""Keys that are named one by one; of more the first and the last."""
_OTHERS = frozenset({"tag", "env", "meta", "rating", "score", "comment", "session", "is", "attachment"})
"""Fields whose values are in other tables."""


def is_plain(query: Query) -> bool:
    """Whether a query asks for nothing but columns of its own rows."""
    return not any(
        level != query.level or any(asks_documents(leaf) or leaf.field in _OTHERS for leaf in asked)
        for level, asked in _spoken(query.tree, query.level)
    )


def levels(query: Query) -> frozenset[Level]:
    """The levels besides its own of whose rows it helps a query to know which belong to those in
    question: all above, and those below in whose documents it looks for words."""
    return frozenset(
        level
        for level, asked in _spoken(query.tree, query.level)
        if level != query.level and (not is_below(level, query.level) or any(map(asks_documents, asked)))
    )


def asks_documents(leaf: FieldTerm) -> bool:
    """Whether a condition looks for words."""
    return fields.FIELDS[leaf.field].kind in ("text", "data")


def _spoken(node: Node, at: Level) -> Iterator[tuple[Level, list[FieldTerm]]]:
    """The levels that the conditions of a query speak of, with all that is asked there and beyond."""
    match node:
        case FreeText():
            yield from _spoken(FieldTerm(field=fields.FREE_TEXT, op="contains", value=node.words), at)
        case FieldTerm():
            yield fields.level_of(fields.FIELDS[node.field], at), [node]
        case LevelScope() | Count():
            yield node.level, [term for _, asked in _spoken(node.node, node.level) for term in asked]
        case Not():
            yield from _spoken(node.node, at)
        case _:
            for inner in node.nodes:
                yield from _spoken(inner, at)


def to(level: Level, keys: Keys, others: frozenset[Level]) -> Mapping[Level, Keys]:
    """The keys of these levels that belong to rows of a level, with those of the rows themselves."""
    found: dict[Level, Keys] = {level: keys}
    if not others or (others == {"agent"} and level in ("session", "turn")):  # they name it themselves
        return found
    if level != "turn":
        found["turn"] = _turns(level, keys)
    if "session" in others:
        turns = Turn.objects.unscoped("what belongs to rows that are asked for").filter(among(found["turn"]))
        found["session"] = _keys(turns, "session_id", keys)
    if "step" in others:
        steps = Step.objects.unscoped("what belongs to rows that are asked for").filter(among(found["turn"], "turn_id"))
        found["step"] = _keys(steps, "pk", keys)
    return found


def _turns(level: Level, keys: Keys) -> Keys:
    if level == "session":
        return _keys(
            Turn.objects.unscoped("what belongs to rows that are asked for").filter(among(keys, "session_id")),
            "pk",
            keys,
        )
    return _keys(
        MODELS[level].objects.unscoped("what belongs to rows that are asked for").filter(among(keys)), "turn_id", keys
    )


def _keys(rows: Any, column: str, of: Keys) -> Keys:
    """The values of a column: a few, or from the first to the last."""
    if of.among is not None:
        found = tuple(rows.order_by().values_list(column, flat=True).distinct()[: MOST + 1])
        if len(found) <= MOST:
            return Keys(among=found)
    low, high = rows.aggregate(low=Min(column), high=Max(column)).values()
    return Keys(among=()) if low is None else Keys(low, high + 1)
