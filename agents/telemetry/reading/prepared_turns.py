"""Turns and steps as they are stored, but for the keys of their rows: what the writer need not do, and what another
process can do for it. They depend on nothing stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo, StepType, ToolDetail
from agents.record.schemas.feedback import ReportedFeedback
from agents.record.schemas.search_documents import StepTokens, TurnTokens, index_tokens, steps_document
from agents.record.schemas.searchable_text import metadata_text
from agents.record.schemas.step_content import NO_CONTENT, StepContent, StepNature, nature_of, step_content
from agents.record.schemas.turn_body import (
    TurnBodyDraft,
    answer_text,
    body_columns,
    calls_text,
    input_text,
    stop_reason,
)
from agents.telemetry.reading.records import ExternalStatus, ExternalStep, ExternalTurn
from agents.telemetry.reading.turn_warnings import trace_truncated

OPEN = ("in_progress", "awaiting_input")
"""The statuses of steps that go on."""


class PreparedStep(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A step with its content; the other fields are those of `ExternalStep`."""

    id: str
    parent: str
    type: StepType
    name: str
    model: str
    agent: str
    status: ExternalStatus
    started_us: int | None
    ended_us: int | None
    ttft_us: int | None
    waited_us: int | None
    usage: Usage | None
    cost_nano: int | None
    error: ErrorInfo | None
    nature: StepNature
    content: StepContent


class PreparedTurn(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A turn with its steps. ``body`` are the columns of its body but the first, ``tokens`` those of its search
    document, ``format`` that of the spans it was reported in; the other fields are those of `ExternalTurn`."""

    id: str
    format: str
    session: str
    session_name: str | None
    agent: str
    agents: tuple[str, ...]
    status: str
    stop_reason: str
    started_us: int
    ended_us: int | None
    waited_us: int | None
    error: ErrorInfo | None
    model: str
    provider: str
    user: str
    tags: tuple[str, ...]
    metadata: dict[str, str]
    instructions: str
    agent_model: str
    feedback: tuple[ReportedFeedback, ...]
    body: tuple[Any, ...]
    tokens: TurnTokens
    steps: tuple[PreparedStep, ...]


_SAME = (
    *(
        "id",
        "session",
        "session_name",
        "agent",
        "agents",
        "status",
        "started_us",
        "ended_us",
        "waited_us",
        "error",
        "model",
    ),
    *("provider", "user", "tags", "metadata", "instructions", "agent_model", "feedback"),
)


def prepare_turns(records: Iterable[ExternalTurn], format_: str, read: int, reported: int) -> list[PreparedTurn]:
    """Prepare the turns of a trace, of which ``read`` spans of those ``reported`` were read, most of this format."""
    return [prepare_turn(_with_warning(record, read, reported), format_) for record in records]


def prepare_turn(record: ExternalTurn, format_: str) -> PreparedTurn:
    turn = PreparedTurn(
        **{name: getattr(record, name) for name in _SAME},
        format=record.format or format_,
        stop_reason=_stop_reason(record),
        body=_body(record),
        tokens=TurnTokens(
            index_tokens(input_text(record.input)),
            index_tokens(answer_text(record.output)),
            index_tokens(record.error.message if record.error else ""),
            index_tokens(metadata_text(record.metadata)),
        ),
        steps=(),
    )
    return with_steps(turn, prepare_steps(record.steps))


def _stop_reason(record: ExternalTurn) -> str:
    return stop_reason(record.output, record.error) if record.stop_reason is None else record.stop_reason


def prepare_beginning(record: ExternalTurn, format_: str) -> PreparedTurn:
    """Prepare a turn as one that goes on and has no steps yet."""
    return prepare_turn(
        replace(record, status="in_progress", ended_us=None, output=None, error=None, stop_reason=None, steps=()),
        format_,
    )


def with_steps(turn: PreparedTurn, steps: Sequence[PreparedStep]) -> PreparedTurn:
    """The turn with all of its steps."""
    positions = sorted(last_positions(step.id for step in steps).values())
    documents = (steps[position].content for position in positions)
    tokens = [content.tokens for content in documents if content.detail is not None]
    return replace(turn, steps=tuple(steps), tokens=with_step_tokens(turn.tokens, tokens))


def with_step_tokens(turn: TurnTokens, steps: Iterable[StepTokens]) -> TurnTokens:
    """The tokens of a turn with those of its steps."""
    return turn._replace(steps=steps_document(steps, turn.output))


def last_positions(steps: Iterable[str]) -> dict[str, int]:
    """The positions of steps by their ids: a turn of several traces may have two of one id, and the last one counts."""
    return {step: position for position, step in enumerate(steps)}


def prepare_steps(steps: Iterable[ExternalStep]) -> list[PreparedStep]:
    return [
        PreparedStep(
            step.id,
            step.parent,
            step.type,
            step.name,
            step.model,
            step.agent,
            step.status,
            step.started_us,
            step.ended_us,
            step.ttft_us,
            step.waited_us,
            step.usage,
            step.cost_nano,
            step.error,
            nature_of(step.detail),
            _content(step),
        )
        for step in steps
    ]


def _content(step: ExternalStep) -> StepContent:
    """The content of a step. Of an open one only a tool's call is known."""
    if step.status not in OPEN:
        return step_content(step.detail, step.error)
    return step_content(step.detail, None) if isinstance(step.detail, ToolDetail) else NO_CONTENT


def _body(record: ExternalTurn) -> tuple[Any, ...]:
    request = _request_json(record)
    content = (record.input, request, record.metadata, record.output, record.error)
    return body_columns(TurnBodyDraft(*content, shown=_shown(record)))


def _shown(record: ExternalTurn) -> str:
    """The text for the preview of the output: the answer, else its calls, else why the turn stopped. A turn that waits
    shows what it waits for."""
    answer, calls = answer_text(record.output), calls_text(record.output)
    if record.status == "awaiting_input":
        return calls or answer
    stopped = record.stop_reason if record.stop_reason != stop_reason(record.output, record.error) else ""
    return answer or calls or stopped or ""


def _request_json(record: ExternalTurn) -> str:
    """The provenance of a turn as JSON, '' where there is none."""
    fields = {"warnings": record.warnings, "hidden": record.hidden, "agents": record.agents, "traces": record.traces}
    details = {name: value for name, value in fields.items() if value}
    return msgspec.json.encode({"foreign": details}).decode() if details else ""


def _with_warning(record: ExternalTurn, read: int, reported: int) -> ExternalTurn:
    """The record, with a warning where not all of its trace was read."""
    if read >= reported:
        return record
    return replace(record, warnings=(trace_truncated(read), *record.warnings))
