"""Turns as spans: what an older telemetry client asks for, out of the rows of the logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import logs
from agents.record.models.turns import Turn
from agents.telemetry.schemas.spans import Condition, Span

LOOKED_AT = 1000
"""Turns that are looked at, the newest first."""
_KEYS = {
    "session_id": (ids.Kind.SESSION, "session_id"),
    "agent_id": (ids.Kind.AGENT, "agent_id"),
    "turn_id": (ids.Kind.TURN, "pk"),
}
_COLUMNS = {"agent_name": "agent__name"}


def spans(actor: Actor, conditions: Sequence[Condition], wanted: Sequence[str]) -> list[Span]:
    """The turns an actor may see that meet all conditions, newest first, with the attributes wanted
    (all, when none are named). A turn without an attribute never meets a condition on it."""
    rows: Any = Turn.objects.visible_to(actor)
    for condition in conditions:
        rows = _narrowed(rows, condition)
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[:LOOKED_AT])
    made = [(row, _attributes(row)) for row in logs.turn_rows(actor, keys)]
    return [
        _span(row, {name: value for name, value in found.items() if name in (wanted or found)})
        for row, found in made
        if all(_meets(found, condition) for condition in conditions)
    ]


def _narrowed(rows: Any, condition: Condition) -> Any:
    """By what has a column; the rest is compared afterwards."""
    if condition.op != "eq" or not isinstance(condition.value, str):
        return rows
    if condition.key in _KEYS:
        kind, column = _KEYS[condition.key]
        key = ids.parse(kind, condition.value)
        return rows.none() if key is None else rows.filter(**{column: key})
    column = _COLUMNS.get(condition.key, "")
    return rows.filter(**{column: condition.value}) if column else rows


def _attributes(row: TurnRow) -> dict[str, str | int | None]:
    known: dict[str, str | int | None] = {
        "turn_id": ids.public(ids.Kind.TURN, row.id),
        "session_id": ids.public(ids.Kind.SESSION, row.session_id),
        "agent_id": ids.public(ids.Kind.AGENT, row.agent_id) if row.agent_id else None,
        "agent_name": row.agent_name,
        "model": row.model,
        "status": row.status,
        "input": row.input_preview,
        "output": row.output_preview,
        "input_tokens": row.usage.input_tokens,
        "output_tokens": row.usage.output_tokens,
    }
    return {name: value for name, value in known.items() if value not in (None, "")}


def _meets(found: Mapping[str, str | int | None], condition: Condition) -> bool:
    there, value = found.get(condition.key), condition.value
    if there is None:
        return False
    match condition.op:
        case "eq":
            return bool(there == value)
        case "ne":
            return bool(there != value)
    if isinstance(there, str) is not isinstance(value, str) or not isinstance(value, str | int | float):
        return False
    return bool(there > value if condition.op == "gt" else there < value)  # type: ignore[operator]  # of one kind


def _span(row: TurnRow, attributes: dict[str, str | int | None]) -> Span:
    return Span(
        span_id=row.id,
        trace_id=row.id,
        name="create_and_execute_turn",
        start_time=row.started_at,
        end_time=row.completed_at,
        attributes=attributes,
    )
