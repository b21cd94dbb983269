"""Computes the state of a stored response, for the API and the pages."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agents.record.schemas.turns import StepSnapshot
from agents.responses.runner.responses import head_of
from agents.responses.store.responses import ResponseRecord, StoredOutcome
from agents.responses.wire import outcomes
from agents.responses.wire import responses as wire
from agents.responses.wire.responses import ResponseHead, ResponseState


def state_of(record: ResponseRecord, outcome: StoredOutcome, head: ResponseHead | None = None) -> ResponseState:
    """Return the state of a response from its stored outcome; its ``head`` if that has more than the record tells."""
    status, incomplete = ended_as(record, outcome)
    return ResponseState(
        status,
        wire.output_of(outcome.steps, head or head_of(record), outcome.details.load),
        record.completed_at,
        None if record.is_live else outcome.usage,
        wire.error_json(outcome.error, record.status.label, outcome.reason),
        incomplete if status == "incomplete" else None,
    )


def ended_as(record: ResponseRecord, outcome: StoredOutcome) -> tuple[str, str | None]:
    """Return OpenAI's status of a response, and why it is incomplete, if it is."""
    load_detail = outcome.details.load
    inferences = (load_detail(step) for step in reversed(outcome.steps) if step.type == "inference")
    finish = next((_finish_reason(step) for step in inferences if step.detail), None)
    refused = any(
        wire.refusal_text(load_detail(step)) is not None for step in outcome.steps if step.type == "shield_call"
    )
    incomplete = None if record.is_live or refused else outcomes.incomplete_reason(outcome.reason, finish)
    if not (record.is_live or refused or record.is_last) and _was_steered(outcome.steps):
        incomplete = outcomes.STEERED
    return outcomes.status_of(record.status.label, incomplete), incomplete


def _was_steered(steps: Sequence[StepSnapshot]) -> bool:
    """Tell whether a response that another follows ended because its client said more."""
    numbers = [number for number, step in enumerate(steps) if step.type == "inference"]
    after = steps[numbers[-1] + 1 :] if numbers else ()
    calls = [step.server_side for step in after if step.type == "tool_execution"]
    return outcomes.was_steered(calls if numbers else None)


def _finish_reason(step: StepSnapshot) -> str | None:
    finish_reason: str | None = msgspec.json.decode(step.detail or b"{}").get("finish_reason")
    return finish_reason
