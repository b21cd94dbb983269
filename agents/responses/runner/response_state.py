"""How far a response is, as its rows tell: for the API and the pages alike."""

from __future__ import annotations

import msgspec

from agents.record.schemas.turns import StepSnapshot
from agents.responses.runner.responses import head_of
from agents.responses.store.responses import ResponseRecord, StoredOutcome
from agents.responses.wire import responses as wire
from agents.responses.wire.responses import ResponseState


def outcome_of(record: ResponseRecord, told: StoredOutcome) -> ResponseState:
    """How far a response is, as its rows tell."""
    head, status = head_of(record), record.status.label
    whole = told.details.load
    asked = (whole(step) for step in reversed(told.steps) if step.type == "inference")
    finish = next((_finish(step) for step in asked if step.detail), None)
    refused = any(wire.refusal_text(whole(step)) is not None for step in told.steps if step.type == "shield_call")
    over = not record.is_live
    incomplete = wire.incomplete_reason(told.reason, finish) if over and not refused else None
    status = wire.status_of(status, incomplete)
    return ResponseState(
        status,
        wire.output_of(told.steps, whole, cites=head.cites, guarded=head.guarded),
        record.completed_at,
        told.usage if over else None,
        wire.error_json(told.error, record.status.label, told.reason),
        incomplete if status == "incomplete" else None,
    )


def _finish(step: StepSnapshot) -> str | None:
    found: str | None = msgspec.json.decode(step.detail or b"{}").get("finish_reason")
    return found
