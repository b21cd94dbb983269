"""Converts turns to OpenTelemetry spans, by the GenAI semantic conventions (semantic-conventions-genai 1.42,
development).

======================  =============================================================================
turn                    ``invoke_agent {agent}``, the root; the session is ``gen_ai.conversation.id``
``inference``           ``chat {model}``, with tokens, cost, and the messages of this turn so far
``tool_execution``      ``execute_tool {tool}``
``memory_retrieval``    ``retrieval {stores}``
``shield_call``         ``guardrail {shield}``: the conventions have no word for it yet
``other``               its kind
======================  =============================================================================

Ids are derived from ours: the trace is the 32 digits of the turn's id, a span the last 16 of the turn's or the step's,
whose other digits are mostly the time. So a turn that is written twice is the same trace. One whose request brought
a ``traceparent`` is part of that trace instead, below the span it names. With ``records`` each span has the whole of
our own record beside the conventions' names (`agents.telemetry.reading.exported_turns`), so that a server like this
one reads back what the conventions have no attribute for. Costs are US dollars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from pydantic import BaseModel

from agents.base import tracing
from agents.base.tracing import span_id
from agents.record.schemas.content import text_of
from agents.record.schemas.events import (
    DETAILS,
    ErrorInfo,
    InferenceDetail,
    MemoryDetail,
    OtherDetail,
    ShieldDetail,
    StepDetail,
    ToolDetail,
)
from agents.record.schemas.records import FeedbackRecord, StepRecord, TurnRecord
from agents.telemetry.reading import evaluations
from agents.telemetry.reading.exported_turns import SERVICE, STEP_ATTRIBUTE, TURN_ATTRIBUTE, as_reported
from agents.telemetry.wire import otlp_messages as messages
from agents.telemetry.wire.otlp_messages import Message

INTERNAL, CLIENT = 1, 3
_STOPPED_STATUSES = ("cancelled", "interrupted")

Attributes = dict[str, Any]

RESOURCE: Attributes = {"service.name": SERVICE}
"""The resource of the spans."""


@dataclass(frozen=True, slots=True)
class OtlpEvent:
    """One event of a span, with attributes as a span has them."""

    name: str
    at_ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class OtlpSpan:
    """One span. Ids are hex digits, times nanoseconds since 1970, ``end_ns`` is 0 while it runs. Attributes are
    strings, numbers, booleans, or lists of strings."""

    trace: str
    id: str
    parent: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: Attributes
    error: ErrorInfo | None = None
    events: tuple[OtlpEvent, ...] = ()


def spans(turn: TurnRecord, *, records: bool = False, trace: str = "") -> list[OtlpSpan]:
    """The spans of a turn: the root first, then the steps in order; in this trace, if one is named."""
    parent = tracing.parse(turn.traceparent)
    trace = trace or (parent.trace if parent else tracing.digits(turn.id))
    otlp_spans = [replace(_root(turn, trace, records=records), parent=parent.span if parent else "")]
    for step, attributes in _TurnMessages(turn).steps_with_attributes():
        if records:
            attributes[STEP_ATTRIBUTE] = step.model_dump_json(exclude_none=True)
        otlp_spans.append(_span(turn, trace, step, attributes))
    return _with_feedback(otlp_spans, turn, records=records)


def _with_feedback(otlp_spans: list[OtlpSpan], turn: TurnRecord, *, records: bool) -> list[OtlpSpan]:
    """The spans with the feedback on each as events of evaluations."""
    steps = {step.id: span_id(step.id) for step in turn.steps}
    events: dict[str, list[OtlpEvent]] = {}
    for entry in turn.feedback:
        events.setdefault(steps.get(entry.step, span_id(turn.id)), []).append(_evaluation(entry, records=records))
    return [replace(span, events=tuple(events.get(span.id, ()))) for span in otlp_spans]


def _evaluation(entry: FeedbackRecord, *, records: bool) -> OtlpEvent:
    reported = as_reported(entry)
    attributes = {
        evaluations.NAME: entry.name or ("rating" if entry.rating else "comment"),
        evaluations.VALUE: entry.value,
        evaluations.LABEL: entry.rating,
        evaluations.EXPLANATION: entry.comment,
        evaluations.FEEDBACK: msgspec.json.encode(reported).decode() if records else "",
    }
    return OtlpEvent(evaluations.EVENT, reported.updated_us * 1000, _without_empty(attributes))


# ------------------------------------------------------------------------------------------ the turn


def _root(turn: TurnRecord, trace: str, *, records: bool) -> OtlpSpan:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent_of(turn),
        "gen_ai.conversation.id": turn.session.id,
        "gen_ai.provider.name": turn.provider,
        "gen_ai.request.model": turn.model,
        "gen_ai.system_instructions": _instructions(turn),
        "gen_ai.input.messages": messages.text([messages.from_turn_message(message) for message in turn.input]),
        "gen_ai.output.messages": messages.text([messages.answer(turn.output)]) if turn.output else "",
        "user.id": turn.user,
        "tag.tags": turn.tags,
        "metadata": messages.text(turn.metadata) if turn.metadata else "",
    }
    if records:
        attributes[TURN_ATTRIBUTE] = turn.model_copy(update={"steps": []}).model_dump_json(exclude_none=True)
    return OtlpSpan(
        trace=trace,
        id=span_id(turn.id),
        parent="",
        name=f"invoke_agent {agent_of(turn)}",
        kind=INTERNAL,
        start_ns=turn.started_at * 1000,
        end_ns=(turn.completed_at or 0) * 1000,
        attributes=_without_empty(attributes),
        error=_error(turn.status, turn.error, turn.stop_reason),
    )


def agent_of(turn: TurnRecord) -> str:
    """The name of a turn's agent, else its model."""
    return turn.agent.name or turn.agent.model or turn.model


def _instructions(turn: TurnRecord) -> str:
    return messages.text(messages.parts(turn.agent.instructions)) if turn.agent.instructions else ""


def _error(status: str, error: ErrorInfo | None, reason: str = "") -> ErrorInfo | None:
    """The error of a span. A stopped turn is one too: OpenTelemetry has no third outcome."""
    if error is None and status in _STOPPED_STATUSES:
        return ErrorInfo(type=status, message=reason or status)
    return error


def _without_empty(attributes: Attributes) -> Attributes:
    """The attributes that have a value."""
    return {name: value for name, value in attributes.items() if value not in (None, "", [])}


# ------------------------------------------------------------------------------------------ its steps


def _span(turn: TurnRecord, trace: str, step: StepRecord, attributes: Attributes) -> OtlpSpan:
    kind = CLIENT if step.type in ("inference", "memory_retrieval") else INTERNAL
    operation = attributes["gen_ai.operation.name"]
    return OtlpSpan(
        trace=trace,
        id=span_id(step.id),
        parent=span_id(step.parent or turn.id),
        name=f"{operation} {step.name}".strip(),
        kind=kind,
        start_ns=step.started_at * 1000,
        end_ns=(step.completed_at or 0) * 1000,
        attributes=attributes,
        error=_error(step.status, step.error),
    )


@dataclass(slots=True)
class _TurnMessages:
    """Walks a turn's steps, and collects the messages so far."""

    turn: TurnRecord
    history: list[Message] = field(default_factory=list)

    def steps_with_attributes(self) -> Iterator[tuple[StepRecord, Attributes]]:
        self.history = [messages.from_turn_message(message) for message in self.turn.input]
        for step in self.turn.steps:
            detail = DETAILS[step.type].model_validate(step.detail) if step.detail is not None else None
            yield step, _without_empty({**self._attributes(step, detail), "gen_ai.agent.name": step.agent})

    def _attributes(self, step: StepRecord, detail: StepDetail | None) -> Attributes:
        match detail:
            case InferenceDetail():
                return self._inference(step, detail)
            case ToolDetail():
                self.history += messages.results(detail.tool_responses)
                return _tool(step, detail)
            case MemoryDetail():
                return _retrieval(detail)
            case ShieldDetail():
                return _guardrail(detail)
            case OtherDetail():
                data = messages.text(detail.data) if detail.data else ""
                return {"gen_ai.operation.name": detail.kind, "agents.step.data": data}
            case BaseModel():  # a type that has no words of its own in the conventions
                data = messages.text(detail.model_dump(mode="json", exclude_none=True))
                return {"gen_ai.operation.name": step.type, "agents.step.data": data}
        return {
            "gen_ai.operation.name": _OPERATIONS.get(step.type, step.type),
            **_NAME_ATTRIBUTES.get(step.type, lambda name: {})(step.name),
        }

    def _inference(self, step: StepRecord, detail: InferenceDetail) -> Attributes:
        input_messages = messages.recent(self.history)
        answer = messages.from_inference(detail)
        self.history.append(answer)
        return {
            "gen_ai.operation.name": _OPERATIONS["inference"],
            "gen_ai.provider.name": self.turn.provider,
            "gen_ai.request.model": step.name or detail.model,
            "gen_ai.response.model": detail.model,
            "gen_ai.response.finish_reasons": [answer["finish_reason"]] if step.status == "completed" else [],
            "gen_ai.response.time_to_first_chunk": None if step.ttft_us is None else step.ttft_us / 1e6,
            "gen_ai.system_instructions": _instructions(self.turn),
            "gen_ai.input.messages": messages.text(input_messages),
            "gen_ai.output.messages": messages.text([answer]) if answer["parts"] else "",
            **_usage(step),
        }


_OPERATIONS = {
    "inference": "chat",
    "tool_execution": "execute_tool",
    "memory_retrieval": "retrieval",
    "shield_call": "guardrail",
    "other": "other",
}
_NAME_ATTRIBUTES: dict[str, Any] = {
    "inference": lambda name: {"gen_ai.request.model": name},
    "tool_execution": lambda name: {"gen_ai.tool.name": name},
}
"""The attributes of a step of which only the name is known yet."""


def _usage(step: StepRecord) -> Attributes:
    usage = step.usage
    if usage is None:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
        "gen_ai.usage.cost": None if step.cost_nano is None else step.cost_nano / 1e9,
    }


def _tool(step: StepRecord, detail: ToolDetail) -> Attributes:
    call = detail.tool_calls[0] if detail.tool_calls else None
    results = [text_of(result.content) for result in detail.tool_responses]
    arguments = call.arguments if call else ""
    return {
        "gen_ai.operation.name": _OPERATIONS["tool_execution"],
        "gen_ai.tool.name": step.name or (call.tool_name if call else ""),
        "gen_ai.tool.type": "extension" if detail.kind == "mcp" else "function",
        "gen_ai.tool.call.id": call.call_id if call else "",
        "gen_ai.tool.call.arguments": arguments if isinstance(arguments, str) else messages.text(arguments),
        "gen_ai.tool.call.result": "\n".join(results) if results else None,
    }


def _retrieval(detail: MemoryDetail) -> Attributes:
    chunks = detail.chunks or [{"content": text} for text in [text_of(detail.inserted_context)] if text]
    return {
        "gen_ai.operation.name": _OPERATIONS["memory_retrieval"],
        "gen_ai.data_source.id": detail.vector_db_ids,
        "gen_ai.retrieval.query.text": detail.query,
        "gen_ai.retrieval.documents": messages.text(chunks) if chunks else "",
    }


def _guardrail(detail: ShieldDetail) -> Attributes:
    violation = detail.violation
    return {
        "gen_ai.operation.name": _OPERATIONS["shield_call"],
        "gen_ai.guardrail.name": ", ".join(detail.shields),
        "gen_ai.guardrail.target": detail.touchpoint,
        "gen_ai.guardrail.triggered": violation is not None,
        "gen_ai.guardrail.message": violation.user_message if violation else "",
    }
