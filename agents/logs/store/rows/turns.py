"""Read turns for a list by their keys, with what stands in a row each by one statement."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.store import terms
from agents.base.store.cursors import held
from agents.base.store.sql import Among, SelectAmong, columns
from agents.logs.schemas.rows import Counts, RowFeedback, StepMark, TurnRow
from agents.logs.store import row_feedback
from agents.logs.store.row_feedback import NO_FEEDBACK
from agents.logs.store.rows import cells
from agents.record.models.choices import LIVE, Api, Source, StepType, TurnStatus
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.schemas.events import ErrorInfo
from agents.record.store.tags import tags_of

_TURN = (
    "id agent_id session_id status stop_reason source api model_id end_user_id error_type_id started_at completed_at "
    "waiting_at duration_us waited_us ttft_us input_tokens output_tokens cached_tokens reasoning_tokens cost_nano "
    "step_count tool_count error_count violation_count doubt_at step_types"
)
_BODY = "input_preview output_preview error metadata"
_COLUMNS = ", ".join(
    [
        *(f"t.{name}" for name in columns(Turn, _TURN)),
        *(f"b.{name}" for name in columns(TurnBody, _BODY)),
        "a.name, a.model, s.name, c.parent_id",
    ]
)
_TURNS = Among(
    f"SELECT {_COLUMNS} FROM agents_turn t "  # noqa: S608 - made of constants only
    "LEFT JOIN agents_turnbody b ON b.turn_id = t.id LEFT JOIN agents_agent a ON a.id = t.agent_id "
    "LEFT JOIN agents_session s ON s.id = t.session_id LEFT JOIN agents_agentcall c ON c.turn_id = t.id "
    "WHERE t.id IN ({values})"
)
MAX_MARKS = 200
"""Steps in the sparkline of a row; a turn of a hundred thousand steps must not fill the page."""
_MARKS = SelectAmong(
    Step,
    "turn_id id type name status started_at duration_us waited_us kind_id violation",
    "turn_id",
    f"number < {MAX_MARKS}",
    "turn_id, number",
)
_STATUS: dict[int, str] = dict(TurnStatus.choices)  # steps have the same numbers
_SOURCE: dict[int, str] = dict(Source.choices)
_API: dict[int, str] = dict(Api.choices)
_TYPE: dict[int, str] = dict(StepType.choices)


@dataclass(frozen=True, slots=True)
class _Context:
    """What a page of turns needs besides: one query each."""

    texts: dict[int | None, str]
    steps: dict[int, list[tuple[Any, ...]]]
    tags: dict[int, list[str]]
    feedback: Mapping[int, RowFeedback]


def rows(keys: Sequence[int]) -> list[TurnRow]:
    """Read the rows of these turns, in this order. The caller has checked that they may be seen."""
    if not keys:
        return []
    with held():
        by_key = {row[0]: row for row in _TURNS.all(keys)}
        context = _context(keys, by_key.values())
    return [_row(by_key[key], context) for key in keys if key in by_key]


def _context(keys: Sequence[int], turns: Collection[tuple[Any, ...]]) -> _Context:
    steps: dict[int, list[tuple[Any, ...]]] = {}
    for row in _MARKS.all(keys):
        steps.setdefault(row[0], []).append(row)
    return _Context(
        texts=terms.texts({number for row in turns for number in row[7:10]}),
        steps=steps,
        tags=tags_of(TurnTag, "turn_id", keys),
        feedback=row_feedback.reader.of_rows("turn", keys),
    )


def _row(row: tuple[Any, ...], context: _Context) -> TurnRow:
    key, agent, session, status, stop_reason, source, api, model, user, error, started, completed, waiting = row[:13]
    duration, waited, ttft, input_tokens, output_tokens, cached, reasoning, cost = row[13:21]
    steps, tools, errors, violations, doubt, types = row[21:27]
    input_preview, output_preview, error_json, metadata, agent_name, agent_model, session_name, caller = row[27:]
    has_inference = bool(types & 1 << StepType.INFERENCE) and status not in LIVE
    return TurnRow(
        id=key,
        agent_id=agent,
        agent_name=agent_name or agent_model or "",
        session_id=session,
        session_name=session_name or "",
        caller_id=caller,
        status=_STATUS[status],
        undecided=doubt is not None,
        stop_reason=stop_reason or None,
        source=_SOURCE[source],
        api=_API[api],
        model=context.texts[model],
        user=context.texts[user] or None,
        tags=context.tags.get(key, []),
        metadata=json.loads(metadata) if metadata else {},
        feedback=context.feedback.get(key, NO_FEEDBACK),
        input_preview=input_preview or "",
        output_preview=output_preview or "",
        started_at=started,
        completed_at=completed,
        waiting_since=waiting,
        duration_ms=cells.milliseconds(duration),
        waited_ms=cells.milliseconds(waited),
        ttft_ms=cells.milliseconds(ttft),
        usage=cells.tokens(input_tokens, output_tokens, cached, reasoning, has_inference=has_inference),
        cost_usd=cells.dollars(cost),
        error=ErrorInfo.model_validate_json(error_json) if error and error_json else None,
        steps=[_mark(step, started) for step in context.steps.get(key, ())],
        counts=Counts(steps=steps, tools=tools, errors=errors, violations=violations),
    )


def _mark(row: tuple[Any, ...], turn_start: int) -> StepMark:
    _, key, type_, name, status, started, duration, waited, kind, violation = row
    return StepMark(
        id=key,
        type=_TYPE[type_],
        kind=terms.text(kind),
        name=name,
        status=_STATUS[status],
        offset_ms=max(started - turn_start, 0) / 1000,
        duration_ms=cells.milliseconds(duration),
        waited_ms=cells.milliseconds(waited),
        violation=bool(violation),
    )
