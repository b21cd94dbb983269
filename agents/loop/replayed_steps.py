"""Applies recorded steps to a run: those of its source to the run of a fork, which repeats their events and their
effects; its own stored ones to a run that is taken over, which repeats their effects only."""

from __future__ import annotations

from agents.loop.progress import RunProgress
from agents.loop.replay import RecordedStep
from agents.record.schemas.content import CompletionMessage, text_of
from agents.record.schemas.events import (
    ErrorInfo,
    Event,
    InferenceDetail,
    MemoryDetail,
    Origin,
    ShieldDetail,
    StepDetail,
    StepEnded,
    StepStarted,
)


def apply_recorded_step(
    progress: RunProgress, recorded: RecordedStep, origin: Origin | None = None, started_step: StepStarted | None = None
) -> list[Event]:
    """Apply a recorded step and return its events (without the first if ``started_step`` has begun already).
    It has no usage: its tokens count in the source."""
    origin = origin or recorded.origin("taken_over")
    started = started_step or progress.step_started(recorded.type, recorded.name)
    detail = recorded.detail.model_copy(update={"origin": origin})
    ended = progress.step_ended(started, detail, status=recorded.status, error=recorded.error)
    _apply_effect(progress, recorded.detail, recorded.error)
    return [ended] if started_step else [started, ended]


def take_stored_end(progress: RunProgress, started: StepStarted) -> StepEnded | None:
    """Take the stored end of a step of a run that is taken over, and apply it; None where none is stored, so that
    the step has to be done."""
    ended = progress.stored_end(started)
    if ended is not None and not is_cut(ended):
        _apply_effect(progress, ended.detail, ended.error if ended.step_type != "tool_execution" else None)
    return ended


def is_cut(ended: StepEnded) -> bool:
    """Whether a step is an inference that was cut when its process was lost, and asked again."""
    return isinstance(ended.detail, InferenceDetail) and bool(ended.detail.is_cut)


def _apply_effect(progress: RunProgress, detail: StepDetail, error: ErrorInfo | None) -> None:
    progress.error = error or progress.error
    match detail:
        case InferenceDetail(compaction=str(), model_response=message):
            progress.summed_up(message)
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
