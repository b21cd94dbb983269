"""Read steps for a list of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models.functions import Coalesce

from agents.base.store import terms
from agents.base.timestamps import to_us, us_or_none
from agents.logs.schemas.rows import RowFeedback, StepRow
from agents.logs.store import row_feedback
from agents.logs.store.row_feedback import NO_FEEDBACK
from agents.logs.store.rows import cells
from agents.record.models.agents import Agent, Session
from agents.record.models.choices import StepStatus, StepType
from agents.record.models.tags import StepTag
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.turn_body import preview
from agents.record.store import large_values
from agents.record.store.tags import tags_of

_COLUMNS: tuple[Any, ...] = (
    "pk",
    "turn_id",
    "turn__session_id",
    Coalesce("agent_id", "turn__agent_id"),
    "number",
    "type",
    "kind_id",
    "name",
    "status",
    "server_side",
    "violation",
    "model_id",
    "finish_id",
    "answered_by_id",
    "started_at",
    "completed_at",
    "duration_us",
    "waited_us",
    "ttft_us",
    "cost_nano",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
)


@dataclass(frozen=True, slots=True)
class _Context:
    sessions: Mapping[int, str]
    agents: Mapping[int, str]
    texts: Mapping[int | None, str]
    details: Mapping[int, tuple[bytes, str]]
    tags: Mapping[int, list[str]]
    feedback: Mapping[int, RowFeedback]


def rows(keys: Sequence[int]) -> list[StepRow]:
    """Read the rows of these steps, in this order."""
    steps = Step.objects.unscoped("ids checked").filter(pk__in=list(keys)).values_list(*_COLUMNS)
    by_key = {row[0]: row for row in steps}
    context = _context(keys, list(by_key.values()))
    return [_row(by_key[key], context) for key in keys if key in by_key]


def _context(keys: Sequence[int], steps: list[tuple[Any, ...]]) -> _Context:
    sessions = Session.objects.unscoped("ids checked").filter(pk__in={row[2] for row in steps})
    agents = Agent.objects.unscoped("ids checked").filter(pk__in={row[3] for row in steps if row[3]})
    details = StepDetail.objects.filter(step_id__in=list(keys)).values_list("pk", "encoding", "body", "error")
    return _Context(
        sessions=dict(sessions.values_list("pk", "name")),
        agents={key: name or model for key, name, model in agents.values_list("pk", "name", "model")},
        texts=terms.texts({number for row in steps for number in (row[6], *row[11:14])}),
        details={key: (large_values.outline(kind, body).body, error) for key, kind, body, error in details},
        tags=tags_of(StepTag, "step_id", keys),
        feedback=row_feedback.reader.of_rows("step", keys),
    )


def _row(row: tuple[Any, ...], context: _Context) -> StepRow:
    key, turn, session, agent, number, type_, kind, name, status, server_side, violation, model = row[:12]
    finish, answerer, started, completed, duration, waited, ttft, cost, *tokens = row[12:]
    detail, error = context.details.get(key, (b"", ""))
    failure = ErrorInfo.model_validate_json(error) if error else None
    input_text, output_text = _previews(StepType(type_), detail)
    return StepRow(
        id=key,
        number=number,
        turn_id=turn,
        session_id=session,
        session_name=context.sessions.get(session, ""),
        agent_id=agent,
        agent_name=context.agents.get(agent, ""),
        type=StepType(type_).label,
        kind=context.texts[kind],
        name=name,
        status=StepStatus(status).label,
        server_side=server_side,
        answered_by=context.texts[answerer] or None,
        violation=violation,
        model=context.texts[model],
        finish=context.texts[finish] or None,
        tags=context.tags.get(key, []),
        feedback=context.feedback.get(key, NO_FEEDBACK),
        input_preview=preview(input_text),
        output_preview=preview(failure.message if failure else output_text),
        started_at=to_us(started),
        completed_at=us_or_none(completed),
        duration_ms=cells.milliseconds(duration),
        waited_ms=cells.milliseconds(waited),
        ttft_ms=cells.milliseconds(ttft),
        usage=cells.tokens(*tokens, has_inference=type_ == StepType.INFERENCE and status != StepStatus.IN_PROGRESS),
        cost_usd=cells.dollars(cost),
        error=failure,
    )


# ------------------------------------------------------------------------------------ previews


class _Message(msgspec.Struct):
    content: Any = ""
    tool_calls: list[Any] = []


class _Violation(msgspec.Struct):
    user_message: str | None = None


class _Detail(msgspec.Struct):
    """The parts of any step's detail that a row shows."""

    model_response: _Message = msgspec.field(default_factory=_Message)
    reasoning: str = ""
    tool_calls: list[Any] = []
    tool_responses: list[_Message] = []
    shields: list[str] = []
    violation: _Violation | None = None
    query: str = ""
    inserted_context: Any = ""
    kind: str | None = None
    data: Any = None


def _previews(type_: StepType, detail: bytes) -> tuple[str, str]:
    """Return (the input of a step, its output)."""
    try:
        parsed = msgspec.json.decode(detail, type=_Detail) if detail else _Detail()
    except (msgspec.MsgspecError, RecursionError):
        return "", ""
    match type_:
        case StepType.INFERENCE:
            return parsed.reasoning, _text(parsed.model_response.content) or _calls(parsed.model_response.tool_calls)
        case StepType.TOOL_EXECUTION:
            return _calls(parsed.tool_calls), "\n".join(_text(response.content) for response in parsed.tool_responses)
        case StepType.SHIELD_CALL:
            return ", ".join(parsed.shields), (parsed.violation.user_message or "") if parsed.violation else ""
        case StepType.MEMORY_RETRIEVAL:
            return parsed.query, _text(parsed.inserted_context)
        case StepType.OTHER:
            data = parsed.data
            return parsed.kind or "", "" if data is None else msgspec.json.encode(data).decode()
    return "", detail.decode()  # a type that has nothing of its own to say here


def _text(content: Any) -> str:
    """Return the text of a message's content."""
    match content:
        case str():
            return content
        case {"text": str(text)}:
            return text
        case list():
            return "\n".join(part for part in map(_text, content) if part)
        case _:
            return ""


def _calls(calls: list[Any]) -> str:
    """Write calls as in code: ``name(arguments)``."""
    return ", ".join(f"{call.get('tool_name', '')}({_arguments(call)})" for call in calls if isinstance(call, dict))


def _arguments(call: dict[str, Any]) -> str:
    arguments_json = call.get("arguments_json")
    return (
        arguments_json if isinstance(arguments_json, str) else msgspec.json.encode(call.get("arguments", "")).decode()
    )
