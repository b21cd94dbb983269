"""Find the rows of a list that changed records may affect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base.models.changes import ChangeKind
from agents.logs.schemas import row_ids
from agents.query import fields
from agents.query.tree import LEVELS, Count, FieldTerm, Level, LevelScope, Node, Query, leaves
from agents.record.models.choices import Api
from agents.record.models.turns import Response, Step, Turn

Record = tuple[int, int]
"""Kind and key, as the change feed has them."""

STEPS = 1_000
"""Steps of a changed turn that are checked again."""


def name_of(row: Any, level: Level) -> str:
    """Return the public id of a row of a list."""
    return str(row.id) if level == "response" else row_ids.public(level, row.id)


def kind_of(level: Level) -> int:
    """Return the kind of change that rows of a level have in the feed."""
    return int(_CHANGES[level])


def kinds(level: Level) -> frozenset[int]:
    """Return the kinds of changes that can affect rows of a level."""
    return frozenset({kind_of(level), int(ChangeKind.TURN)})


def by(query: Query, records: Sequence[Record]) -> tuple[list[int], list[int] | None]:
    """Return (keys of the rows that may have changed, their turns where these are known)."""
    changed: dict[int, list[int]] = {}
    for kind, key in records:
        changed.setdefault(kind, []).append(key)
    turns, own = changed.get(ChangeKind.TURN, []), changed.get(_CHANGES[query.level], [])
    match query.level:
        case "turn":
            return turns, turns
        case "session":
            sessions = Turn.objects.unscoped("asked again").filter(pk__in=turns).values_list("session_id", flat=True)
            return list(dict.fromkeys([*own, *sessions])), None
        case "response":
            responses = Response.objects.unscoped("asked again").filter(turn_id__in=turns, api=Api.RESPONSES)
            return list(dict.fromkeys([*own, *responses.values_list("pk", flat=True)])), None
        case _:
            return list(dict.fromkeys([*own, *(_steps(turns) if _looks_up(query.tree) else ())])), None


_CHANGES: dict[Level, int] = {
    "agent": ChangeKind.AGENT,
    "session": ChangeKind.SESSION,
    "turn": ChangeKind.TURN,
    "response": ChangeKind.RESPONSE,
    "step": ChangeKind.STEP,
}


def _steps(turns: Sequence[int]) -> list[int]:
    rows = Step.objects.unscoped("asked again").filter(turn_id__in=turns)
    return list(rows.order_by("-pk").values_list("pk", flat=True)[:STEPS])


def _looks_up(node: Node) -> bool:
    """Whether a query over steps has a condition on the turns, responses, sessions or agents they belong to."""
    if isinstance(node, LevelScope | Count) and node.level != "step":
        return True
    terms = [leaf for leaf in leaves(node) if isinstance(leaf, FieldTerm)]
    above = LEVELS[: LEVELS.index("step")]
    return any(fields.level_of(fields.FIELDS[term.field], "step") in above for term in terms) or _nests(node)


def _nests(node: Node) -> bool:
    inner = getattr(node, "nodes", None) or ([node.node] if hasattr(node, "node") else [])
    return any(_looks_up(child) for child in inner)
