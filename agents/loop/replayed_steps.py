"""Steps of a fork that are taken over: they are told as they were, and have the effect they had."""

from __future__ import annotations

from agents.loop.progress import Progress
from agents.loop.replay import RecordedStep
from agents.record.schemas.content import CompletionMessage, text_of
from agents.record.schemas.events import Event, InferenceDetail, MemoryDetail, Origin, ShieldDetail, StepStarted


def take_over(
    progress: Progress, recorded: RecordedStep, origin: Origin | None = None, begun: StepStarted | None = None
) -> list[Event]:
    """The events of a step whose outcome is known (``begun``: but for its first). It used no tokens here:
    what it used is counted where it was done."""
    origin = origin or recorded.origin("taken_over")
    started = begun or progress.step_started(recorded.type, recorded.name)
    detail = recorded.detail.model_copy(update={"origin": origin})
    ended = progress.step_ended(started, detail, status=recorded.status, error=recorded.error)
    _effect(progress, recorded)
    return [ended] if begun else [started, ended]


def _effect(progress: Progress, recorded: RecordedStep) -> None:
    progress.error = recorded.error or progress.error
    match recorded.detail:
        case InferenceDetail(model_response=message):
            progress.message = message
            progress.iterations += 1
        case MemoryDetail(inserted_context=context):
            progress.remember(text_of(context))
        case ShieldDetail(violation=violation) if violation and violation.violation_level == "error":
            progress.blocked = True
            progress.message = CompletionMessage(content=violation.user_message or "", stop_reason="end_of_turn")
        case _:
            pass
