"""What the oracle of queries sees of all that is stored: rows read one by one, without the code under
test."""

from __future__ import annotations

import json
from typing import Any

from agents.base import ids
from agents.base.models.people import ApiKey
from agents.base.models.terms import Term, TermKind
from agents.base.timestamps import to_us
from agents.feedback.models import Feedback
from agents.query.tree import Level
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Agent, Session
from agents.record.models.tags import SessionTag, StepTag, TurnTag
from agents.record.models.turns import Response, Step, StepDetail, Turn, TurnBody
from agents.record.schemas import events, searchable_text
from agents.record.schemas.content import CompletionMessage, text_of
from agents.record.schemas.events import ErrorInfo, ToolDetail
from agents.record.schemas.events import StepDetail as AnyDetail
from agents.record.store import large_values
from tests.query.records import AgentRecord, ResponseRecord, Row, SessionRecord, StepRecord, TurnRecord

KINDS: dict[Level, ids.Kind] = {
    "agent": ids.Kind.AGENT,
    "session": ids.Kind.SESSION,
    "turn": ids.Kind.TURN,
    "response": ids.Kind.RESPONSE,
    "step": ids.Kind.STEP,
}
_ATTACHED = {1: ("image",), 2: ("document",), 3: ("image", "document")}


def rows(level: Level) -> dict[str, Row]:
    """Every stored row of a level by its public id."""
    found: list[Row] = []
    sessions = {row.pk: session(row) for row in Session.objects.unscoped("test").order_by("pk")}
    of_agent: dict[int | None, list[SessionRecord]] = {}
    for row in Session.objects.unscoped("test").order_by("pk"):
        of_agent.setdefault(row.agent_id, []).append(sessions[row.pk])
    agents: dict[int | None, AgentRecord] = {
        row.pk: agent(row, of_agent.get(row.pk, [])) for row in Agent.objects.unscoped("test")
    }
    by_id = {each.id: each for each in agents.values()}
    for row in Session.objects.unscoped("test"):
        found += Row(agent=agents.get(row.agent_id), session=sessions[row.pk], agents=by_id).at(level)
    if level == "agent":
        found = [Row(agent=each, agents=by_id) for each in agents.values() if each]
    return {getattr(row, level).id: row for row in found}


def public(level: Level, key: int) -> str:
    return ids.public(KINDS[level], key)


def agent(row: Agent, sessions: list[SessionRecord]) -> AgentRecord:
    return AgentRecord(
        id=public("agent", row.pk),
        name=row.name or row.model,
        source=row.get_source_display(),
        started_us=to_us(row.created_at),
        sessions=tuple(sessions),
    )


def session(row: Session) -> SessionRecord:
    turns = Turn.objects.unscoped("test").filter(session=row).order_by("number")
    return SessionRecord(
        id=public("session", row.pk),
        name=row.name,
        api=row.get_api_display(),
        source=row.get_source_display(),
        started_us=to_us(row.created_at),
        metadata=row.metadata,
        tokens_total=row.input_tokens + row.output_tokens,
        tokens_in=row.input_tokens,
        tokens_out=row.output_tokens,
        cost_nano=row.cost_nano,
        turns=tuple(map(turn, turns)),
        **judged(SessionTag.objects.filter(session_id=row.pk), Feedback.objects.filter(session=row, turn=None)),
    )


def name_of_key(key: int | None) -> str:
    if key is None:
        return ""
    return str(ApiKey.objects.filter(pk=key).values_list("name", flat=True).first() or "")


def prompts_of(turn: int) -> tuple[str, ...]:
    numbers = TurnTag.objects.filter(turn_id=turn).values("term_id")
    return tuple(Term.objects.filter(pk__in=numbers, kind=TermKind.PROMPT).values_list("value", flat=True))


def turn(row: Turn) -> TurnRecord:
    body = TurnBody.objects.unscoped("test").get(pk=row.pk)
    error = ErrorInfo.model_validate_json(body.error) if body.error else None
    steps = tuple(map(step, Step.objects.unscoped("test").filter(turn=row).order_by("number")))
    message = CompletionMessage.model_validate_json(body.output_message) if body.output_message else None
    call = AgentCall.objects.unscoped("test").filter(pk=row.pk).first()
    said = text_of(message.content) if message and row.get_status_display() != "awaiting_input" else ""
    return TurnRecord(
        id=public("turn", row.pk),
        **happened(row),
        started_us=to_us(row.started_at),
        ended_us=to_us(row.completed_at) if row.completed_at else None,
        ttft_us=row.ttft_us,
        waited_us=row.waited_us,
        cost_nano=row.cost_nano,
        user=str(row.end_user or ""),
        env=str(body.metadata.get("env", "")),
        key=name_of_key(row.actor_key),
        api=row.get_api_display(),
        source=row.get_source_display(),
        provider=str(row.provider or ""),
        stop_reason=row.stop_reason,
        error_type=str(row.error_type or ""),
        error_message=error.message if error else "",
        error_without_numbers=str(row.error_message or ""),
        input=searchable_text.of_input(body.input_messages),
        output=said,
        metadata=body.metadata,
        prompts=prompts_of(row.pk),
        attachments=_ATTACHED.get(body.attachments, ()),
        sanitized=body.sanitized,
        caller=public("turn", call.parent_id) if call and call.parent_id else "",
        called=call is not None,
        steps=steps,
        responses=legs(row, steps),
        **judged(TurnTag.objects.filter(turn_id=row.pk), Feedback.objects.filter(turn=row, step=None)),
    )


def happened(row: Any) -> dict[str, Any]:
    return {
        "status": row.get_status_display(),
        "model": str(row.model or ""),
        "tokens_total": row.input_tokens + row.output_tokens,
        "tokens_in": row.input_tokens,
        "tokens_out": row.output_tokens,
        "tokens_cached": row.cached_tokens,
        "tokens_reasoning": row.reasoning_tokens,
        "undecided": is_undecided(row),
        "duration_us": row.duration_us if hasattr(row, "duration_us") else None,
    }


def is_undecided(row: Any) -> bool:
    """Whether somebody has to decide what became of a call of it."""
    if isinstance(row, Turn):
        return row.doubt_at is not None
    is_call = not isinstance(row, Step) or row.get_type_display() == "tool_execution"
    return is_call and row.get_status_display() in ("queued", "in_progress") and row.turn.doubt_at is not None


def judged(tags: Any, feedback: Any) -> dict[str, Any]:
    names = [Term.objects.get(pk=tag.term_id) for tag in tags]
    scores: dict[str, list[float]] = {}
    for one in feedback.filter(name__isnull=False):
        scores.setdefault(one.name.value, []).append(one.value)
    return {
        "tags": tuple(name.value for name in names if name.kind == TermKind.TAG),
        "ratings": tuple(one.get_rating_display() for one in feedback.filter(rating__isnull=False)),
        "scores": scores,
        "comments": tuple(one.comment for one in feedback if one.comment),
    }


def legs(row: Turn, steps: tuple[StepRecord, ...]) -> tuple[ResponseRecord, ...]:
    rows = list(Response.objects.unscoped("test").filter(turn=row).order_by("number"))
    ends = [later.first_step for later in rows[1:]] + [len(steps)]
    return tuple(leg(row, each, steps[each.first_step : end]) for each, end in zip(rows, ends, strict=True))


def leg(turn: Turn, row: Response, steps: tuple[StepRecord, ...]) -> ResponseRecord:
    ended = to_us(row.completed_at) if row.completed_at else None
    started = to_us(row.created_at)
    is_cut = turn.stop_reason in ("out_of_tokens", "max_infer_iters") and turn.leg_count == row.number
    given = {**happened(row), "duration_us": None if ended is None else ended - started}
    if is_cut and row.get_status_display() == turn.get_status_display() == "completed":
        given["status"] = "incomplete"
    return ResponseRecord(
        id=public("response", row.pk),
        **given,
        started_us=started,
        ended_us=ended,
        api=row.get_api_display(),
        cut=is_cut,
        steps=steps,
    )


def step(row: Step) -> StepRecord:
    stored = StepDetail.objects.filter(step=row).first()
    whole = large_values.unpack(row.pk, stored.encoding, bytes(stored.body)) if stored else b"{}"
    detail = _read(row, whole) if stored else None
    error = ErrorInfo.model_validate_json(stored.error) if stored and stored.error else None
    text = searchable_text.of_step(detail, error) if detail else None
    called = ToolDetail.model_validate_json(whole) if stored and row.get_type_display() == "tool_execution" else None
    return StepRecord(
        id=public("step", row.pk),
        agent=public("agent", row.agent_id) if row.agent_id else "",
        **happened(row),
        started_us=to_us(row.started_at),
        ended_us=to_us(row.completed_at) if row.completed_at else None,
        ttft_us=row.ttft_us,
        waited_us=row.waited_us,
        cost_nano=row.cost_nano,
        type=row.get_type_display(),
        kind=str(row.kind or ""),
        tool=str(row.tool or ""),
        server_side=row.server_side if row.tool else None,
        answered_by=str(row.answered_by or ""),
        finish=str(row.finish or ""),
        error_type=str(row.error_type or ""),
        error_message=error.message if error else "",
        error_without_numbers=str(row.error_message or ""),
        violation=searchable_text.violation_of(detail) if detail else "",
        said=text.said if text else "",
        args_text=text.args if text else "",
        result_text=text.result if text else "",
        problem=text.problem if text else "",
        args=searchable_text.arguments_of(called.tool_calls[0]) if called and text else None,
        result=searchable_text.results_of(called.tool_responses) if called and text else None,
        **judged(StepTag.objects.filter(step_id=row.pk), Feedback.objects.filter(step=row)),
    )


def _read(row: Step, whole: bytes) -> AnyDetail:
    found: AnyDetail = _KINDS[row.get_type_display()].model_validate(json.loads(whole))
    return found


_KINDS: dict[str, Any] = {
    "inference": events.InferenceDetail,
    "tool_execution": events.ToolDetail,
    "shield_call": events.ShieldDetail,
    "memory_retrieval": events.MemoryDetail,
    "other": events.OtherDetail,
}
