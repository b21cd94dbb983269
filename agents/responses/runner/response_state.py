"""Computes the state of a stored response, for the API and the pages."""

from __future__ import annotations

import msgspec

from agents.record.schemas.turns import StepSnapshot
from agents.responses.runner.responses import head_of
from agents.responses.store.responses import ResponseRecord, StoredOutcome
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
    incomplete = None if record.is_live or refused else wire.incomplete_reason(outcome.reason, finish)
    return wire.status_of(record.status.label, incomplete), incomplete


def _finish_reason(step: StepSnapshot) -> str | None:
    finish_reason: str | None = msgspec.json.decode(step.detail or b"{}").get("finish_reason")
    return finish_reason
