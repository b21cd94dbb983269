"""Read turns for a list, with one query for each table and no joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.store import terms
from agents.base.timestamps import to_us, us_or_none
from agents.logs.schemas.rows import Counts, RowFeedback, StepMark, TurnRow
from agents.logs.store import row_feedback
from agents.logs.store.row_feedback import NO_FEEDBACK
from agents.logs.store.rows import cells
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import LIVE, Api, Source, StepStatus, StepType, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.schemas.events import ErrorInfo
from agents.record.store import agent_calls
from agents.record.store.tags import tags_of

_TURN = (
    "pk",
    "agent_id",
    "session_id",
    "status",
    "stop_reason",
    "source",
    "api",
    "model_id",
    "end_user_id",
    "error_type_id",
    "started_at",
    "completed_at",
    "waiting_at",
    "duration_us",
    "waited_us",
    "ttft_us",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost_nano",
    "step_count",
    "tool_count",
    "error_count",
    "violation_count",
    "doubt_at",
    "step_types",
)
_BODY = ("pk", "input_preview", "output_preview", "error", "metadata")


@dataclass(frozen=True, slots=True)
class _Context:
    """Rows of other tables that a page of turns needs: one query each."""

    bodies: dict[int, tuple[str, str, str, dict[str, Any]]]
    agents: dict[int, str]
    sessions: dict[int, str]
    texts: dict[int | None, str]
    steps: dict[int, list[tuple[Any, ...]]]
    tags: dict[int, list[str]]
    callers: dict[int, int | None]
    feedback: Mapping[int, RowFeedback]


def rows(keys: Sequence[int]) -> list[TurnRow]:
    """Read the rows of these turns, in this order. The caller has checked that they may be seen."""
    if not keys:
        return []
    by_key = {row[0]: row for row in Turn.objects.unscoped("ids checked").filter(pk__in=keys).values_list(*_TURN)}
    context = _context(keys, list(by_key.values()))
    return [_row(by_key[key], context) for key in keys if key in by_key]


def _context(keys: Sequence[int], turns: list[tuple[Any, ...]]) -> _Context:
    bodies = TurnBody.objects.unscoped("ids checked").filter(turn_id__in=keys)
    agents = Agent.objects.unscoped("ids checked").filter(pk__in={row[1] for row in turns if row[1]})
    sessions = Session.objects.unscoped("ids checked").filter(pk__in={row[2] for row in turns})
    return _Context(
        bodies={row[0]: row[1:] for row in bodies.values_list(*_BODY)},
        agents={key: name or model for key, name, model in agents.values_list("pk", "name", "model")},
        sessions=dict(sessions.values_list("pk", "name")),
        texts=terms.texts({number for row in turns for number in row[7:10]}),
        steps=_steps(keys),
        tags=tags_of(TurnTag, "turn_id", keys),
        callers=agent_calls.callers(keys),
        feedback=row_feedback.reader.of_rows("turn", keys),
    )


MAX_MARKS = 200
"""Steps in the sparkline of a row; a turn of a hundred thousand steps must not fill the page."""


def _steps(keys: Sequence[int]) -> dict[int, list[tuple[Any, ...]]]:
    rows = (
        Step.objects.unscoped("ids checked")
        .filter(turn_id__in=keys, number__lt=MAX_MARKS)
        .order_by("turn_id", "number")
    )
    by_turn: dict[int, list[tuple[Any, ...]]] = {}
    columns = (
        "turn_id",
        "pk",
        "type",
        "name",
        "status",
        "started_at",
        "duration_us",
        "waited_us",
        "kind_id",
        "violation",
    )
    for row in rows.values_list(*columns):
        by_turn.setdefault(row[0], []).append(row)
    return by_turn


def _row(row: tuple[Any, ...], context: _Context) -> TurnRow:
    key, agent, session, status, stop_reason, source, api, model, user, error, started, completed, waiting = row[:13]
    duration, waited, ttft, input_tokens, output_tokens, cached, reasoning, cost = row[13:21]
    steps, tools, errors, violations, doubt, types = row[21:]
    has_inference = bool(types & 1 << StepType.INFERENCE) and status not in LIVE
    input_preview, output_preview, error_json, metadata = context.bodies.get(key, ("", "", "", {}))
    start = to_us(started)
    return TurnRow(
        id=key,
        agent_id=agent,
        agent_name=context.agents.get(agent, ""),
        session_id=session,
        session_name=context.sessions.get(session, ""),
        caller_id=context.callers.get(key),
        status=TurnStatus(status).label,
        undecided=doubt is not None,
        stop_reason=stop_reason or None,
        source=Source(source).label,
        api=Api(api).label,
        model=context.texts[model],
        user=context.texts[user] or None,
        tags=context.tags.get(key, []),
        metadata=metadata,
        feedback=context.feedback.get(key, NO_FEEDBACK),
        input_preview=input_preview,
        output_preview=output_preview,
        started_at=start,
        completed_at=us_or_none(completed),
        waiting_since=us_or_none(waiting),
        duration_ms=cells.milliseconds(duration),
        waited_ms=cells.milliseconds(waited),
        ttft_ms=cells.milliseconds(ttft),
        usage=cells.tokens(input_tokens, output_tokens, cached, reasoning, has_inference=has_inference),
        cost_usd=cells.dollars(cost),
        error=ErrorInfo.model_validate_json(error_json) if error and error_json else None,
        steps=[_mark(step, start) for step in context.steps.get(key, ())],
        counts=Counts(steps=steps, tools=tools, errors=errors, violations=violations),
    )


def _mark(row: tuple[Any, ...], turn_start: int) -> StepMark:
    _, key, type_, name, status, started, duration, waited, kind, violation = row
    return StepMark(
        id=key,
        type=StepType(type_).label,
        kind=terms.text(kind),
        name=name,
        status=StepStatus(status).label,
        offset_ms=max(to_us(started) - turn_start, 0) / 1000,
        duration_ms=cells.milliseconds(duration),
        waited_ms=cells.milliseconds(waited),
        violation=violation,
    )
