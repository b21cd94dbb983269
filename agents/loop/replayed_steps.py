"""Applies recorded steps to the run of a fork: it repeats their events and their effects."""

from __future__ import annotations

from agents.loop.progress import RunProgress
from agents.loop.replay import RecordedStep
from agents.record.schemas.content import CompletionMessage, text_of
from agents.record.schemas.events import Event, InferenceDetail, MemoryDetail, Origin, ShieldDetail, StepStarted


def apply_recorded_step(
    progress: RunProgress, recorded: RecordedStep, origin: Origin | None = None, started_step: StepStarted | None = None
) -> list[Event]:
    """Apply a recorded step and return its events (without the first if ``started_step`` has begun already).
    It has no usage: its tokens count in the source."""
    origin = origin or recorded.origin("taken_over")
    started = started_step or progress.step_started(recorded.type, recorded.name)
    detail = recorded.detail.model_copy(update={"origin": origin})
    ended = progress.step_ended(started, detail, status=recorded.status, error=recorded.error)
    _apply_effect(progress, recorded)
    return [ended] if started_step else [started, ended]


def _apply_effect(progress: RunProgress, recorded: RecordedStep) -> None:
    progress.error = recorded.error or progress.error
    match recorded.detail:
        case InferenceDetail(model_response=message):
            progress.message = message
            progress.iterations += 1
        case MemoryDetail(inserted_context=context):
            progress.set_context(text_of(context))
        case ShieldDetail(violation=violation) if violation and violation.violation_level == "error":
            progress.blocked = True
            progress.message = CompletionMessage(content=violation.user_message or "", stop_reason="end_of_turn")
        case _:
            pass
