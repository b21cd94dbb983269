"""Answers the span queries of older telemetry clients from the rows of the logs: each turn is one span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.record.models.turns import Turn
from agents.telemetry.schemas.spans import AttributeCondition, SpanObject

MAX_TURNS = 1000
"""Turns that a query reads, the newest first."""
_KEYS = {
    "session_id": (ids.Kind.SESSION, "session_id"),
    "agent_id": (ids.Kind.AGENT, "agent_id"),
    "turn_id": (ids.Kind.TURN, "pk"),
}
_COLUMNS = {"agent_name": "agent__name"}


def spans(actor: Actor, conditions: Sequence[AttributeCondition], names: Sequence[str]) -> list[SpanObject]:
    """The turns an actor may see that meet all conditions, newest first, with the attributes ``names`` (all, where
    there are none). A turn without an attribute never meets a condition on it."""
    rows: Any = Turn.objects.visible_to(actor)
    for condition in conditions:
        rows = _filter(rows, condition)
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[:MAX_TURNS])
    turns = [(row, _attributes(row)) for row in turn_log.turn_rows(actor, keys)]
    return [
        _span(row, {name: value for name, value in attributes.items() if name in (names or attributes)})
        for row, attributes in turns
        if all(_matches(attributes, condition) for condition in conditions)
    ]


def _filter(rows: Any, condition: AttributeCondition) -> Any:
    """Filter by a condition on a column; other conditions are checked on the rows that are read."""
    if condition.op != "eq" or not isinstance(condition.value, str):
        return rows
    if condition.key in _KEYS:
        kind, column = _KEYS[condition.key]
        key = ids.parse(kind, condition.value)
        return rows.none() if key is None else rows.filter(**{column: key})
    column = _COLUMNS.get(condition.key, "")
    return rows.filter(**{column: condition.value}) if column else rows


def _attributes(row: TurnRow) -> dict[str, str | int | None]:
    attributes: dict[str, str | int | None] = {
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
    return {name: value for name, value in attributes.items() if value not in (None, "")}


def _matches(attributes: Mapping[str, str | int | None], condition: AttributeCondition) -> bool:
    actual, value = attributes.get(condition.key), condition.value
    if actual is None:
        return False
    match condition.op:
        case "eq":
            return bool(actual == value)
        case "ne":
            return bool(actual != value)
    if isinstance(actual, str) is not isinstance(value, str) or not isinstance(value, str | int | float):
        return False
    return bool(actual > value if condition.op == "gt" else actual < value)  # type: ignore[operator]  # of one kind


def _span(row: TurnRow, attributes: dict[str, str | int | None]) -> SpanObject:
    return SpanObject(
        span_id=row.id,
        trace_id=row.id,
        name="create_and_execute_turn",
        start_time=row.started_at,
        end_time=row.completed_at,
        attributes=attributes,
    )
