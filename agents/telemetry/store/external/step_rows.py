"""The columns of an external step, the JSON of its detail, and its search text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.models.choices import StepStatus, StepType
from agents.record.schemas.events import InferenceDetail, OtherDetail, ToolDetail
from agents.record.store import search, searchable_text, steps
from agents.telemetry.reading.records import ExternalStep
from agents.telemetry.store.external.owners import external_id

FIELDS = (
    "id turn_id number parent_id round type tool_id model_id name server_side started_at status completed_at "
    "duration_us ttft_us violation error_type_id kind_id finish_id input_tokens output_tokens cached_tokens "
    "reasoning_tokens cost_nano price_id foreign_id"
)
EXTERNAL_ID_COLUMN = -1
"""The position of the sender's id in a row of `FIELDS`."""
Cost = tuple[int | None, int | None]
"""Billionths of a dollar, and the price's id: None while unknown."""
_TYPES = {choice.label: choice.value for choice in StepType}
_STATUSES = {choice.label: choice.value for choice in StepStatus}
_OPEN_COLUMNS = (None, None, None, False, None, None, None, 0, 0, 0, 0, None, None)
"""The columns from ``completed_at`` to ``price_id`` of a step in progress."""


@dataclass(frozen=True, slots=True)
class StepContent:
    """The part of a step that depends on nothing stored. ``detail`` and ``error`` are JSON; ``detail`` is None while
    nothing of it is known."""

    detail: bytes | None
    error: str
    tokens: search.StepTokens


def step_content(step: ExternalStep) -> StepContent:
    is_open = step.status == "in_progress"
    error = None if is_open else step.error
    has_detail = not is_open or isinstance(step.detail, ToolDetail)
    return StepContent(
        detail=step.detail.model_dump_json(exclude_none=True).encode() if has_detail else None,
        error=error.model_dump_json(exclude_none=True) if error else "",
        tokens=search.step_tokens(searchable_text.of_step(step.detail, error)) if has_detail else (),
    )


@dataclass(frozen=True, slots=True)
class NewStepRow:
    """A step that is to be stored."""

    key: int
    number: int
    row: tuple[Any, ...]
    cost_nano: int | None
    content: StepContent


@dataclass(frozen=True, slots=True)
class StepKeys:
    """The key of a turn, and the keys of its steps by the sender's ids."""

    turn: int
    steps: Mapping[str, int]


def step_row(
    keys: StepKeys, number: int, step: ExternalStep, content: StepContent, started: int, cost: Cost
) -> NewStepRow:
    """Build the row of a step; ``started`` is in microseconds."""
    key, parent, is_open = keys.steps[step.id], keys.steps.get(step.parent), step.status == "in_progress"
    head = (key, keys.turn, number, parent, 0, *_type_and_name(step), False, started, _STATUSES[step.status])
    row = (*head, *(_OPEN_COLUMNS if is_open else _end_columns(step, started, cost)), external_id(step.id))
    return NewStepRow(key, number, row, cost[0], content)


def _type_and_name(step: ExternalStep) -> tuple[int, int | None, int | None, str]:
    """The columns of a step's type, tool, model and name."""
    type_ = _TYPES[step.type]
    tool = terms.intern(TermKind.TOOL, step.name) if type_ == StepType.TOOL_EXECUTION else None
    model = terms.intern(TermKind.MODEL, step.model) if type_ == StepType.INFERENCE else None
    return type_, tool, model, step.name[:300]


def _end_columns(step: ExternalStep, started: int, cost: Cost) -> tuple[Any, ...]:
    """The columns of `_OPEN` of a step that has ended."""
    ended = max(started if step.ended_us is None else step.ended_us, started)
    outcome = (steps.objects(step.detail), steps.error_term(step.error), _kind(step), _finish(step))
    return (ended, ended - started, step.ttft_us, *outcome, *_tokens(step), *cost)


def _kind(step: ExternalStep) -> int | None:
    return terms.intern(TermKind.STEP_KIND, step.detail.kind) if isinstance(step.detail, OtherDetail) else None


def _finish(step: ExternalStep) -> int | None:
    """The term for the reason why an inference stopped."""
    detail = step.detail
    return terms.intern(
        TermKind.FINISH, detail.model_response.stop_reason if isinstance(detail, InferenceDetail) else ""
    )


def _tokens(step: ExternalStep) -> tuple[int, int, int, int]:
    used = step.usage
    if used is None:
        return 0, 0, 0, 0
    return used.input_tokens, used.output_tokens, used.cached_tokens, used.reasoning_tokens
