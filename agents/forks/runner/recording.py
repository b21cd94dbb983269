"""The tape of a fork: what the rows of its source tell, as the loop takes it."""

from __future__ import annotations

from collections.abc import Sequence

from agents.loop.replay import EditedResult, NextResponse, RecordedStep, RecordedTurn, is_replayed
from agents.record.schemas.content import Content, TurnMessage
from agents.record.schemas.events import DETAILS, StepDetail, ToolDetail, TurnResumed
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import replay


def recording(
    source: TurnSnapshot,
    step: StepSnapshot,
    *,
    replays: bool,
    edited: Content | None,
    next_responses: Sequence[NextResponse],
) -> RecordedTurn:
    """The tape of a fork from a step on. What servers say of their tools is asked again: the tools have to
    be there to be called."""
    finished = [_recorded(item) for item in source.steps if item.completed_at is not None and item.detail]
    numbers = {item.key: item.number for item in source.steps}
    return RecordedTurn(
        replayed=[item for item in finished if numbers[item.key] < step.number and is_replayed(item)],
        reusable=[item for item in finished if numbers[item.key] >= step.number],
        edit=None if edited is None else EditedResult(step.key, call_id(step), edited),
        next_responses=next_responses,
        reuses_results=replays,
    )


def detail_of(step: StepSnapshot) -> StepDetail:
    detail: StepDetail = DETAILS[step.type].model_validate_json(step.detail or b"{}")
    return detail


def call_id(step: StepSnapshot) -> str | None:
    """The id of the call that a tool's step is."""
    detail = detail_of(step)
    return detail.tool_calls[0].call_id if isinstance(detail, ToolDetail) and detail.tool_calls else None


def _recorded(step: StepSnapshot) -> RecordedStep:
    return RecordedStep(step.key, step.type, step.name, detail_of(step), step.status, step.error)  # type: ignore[arg-type]  # a step that is over is completed or failed, which its type does not know


def resumed_messages(turn: int) -> list[Sequence[TurnMessage] | None]:
    """What was said beside the answers that each of a turn's later legs begins with; None for a leg that begins with
    no answers, because its client steered the one before: what was said is a step, which the fork hears there."""
    entries = (entry for window in replay.windows(turn) for entry in window)
    resumed = (event for event in entries if isinstance(event, TurnResumed))
    return [None if event.steering else event.input_messages for event in resumed]
