"""Compaction: the model sums up the conversation, so that what follows fits its context.

A run compacts before an inference whose messages are over its threshold, or does nothing else where its request asks
for that alone. The summary is an inference step of its own; `agents.record.schemas.compaction` has what a model is
shown of the history afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from agents.base import metrics
from agents.base.errors import AgentsError
from agents.loop.inference.base import Finish, InferenceRequest, Reasoning, Text
from agents.loop.progress import RunProgress
from agents.loop.replayed_steps import apply_recorded_step, is_cut, take_stored_end
from agents.loop.steps import end_cut, error_info, may_infer
from agents.loop.token_estimate import estimated_tokens
from agents.record.schemas.compaction import PROMPT
from agents.record.schemas.content import CompletionMessage, SamplingParams
from agents.record.schemas.events import ErrorInfo, Event, InferenceDetail, StepEnded, StepStarted

_OF_ANSWERS = frozenset({"response_format", "verbosity", "parallel_tool_calls"})
"""Options of a request that are about its answer, and not about a summary."""


def is_due(progress: RunProgress) -> bool:
    """Whether the next inference has to be preceded by a summary. A fork follows its record as far as that goes."""
    compaction = progress.run.compaction
    recorded = progress.replay.next_step("inference")
    if recorded is not None:
        return isinstance(recorded.detail, InferenceDetail) and recorded.detail.compaction is not None
    if compaction is None or compaction.threshold is None:
        return False
    tokens = estimated_tokens(progress.messages(), progress.available_tools())
    if progress.was_compacted:  # what a summary leaves may be over the threshold too: no second one before it doubles
        progress.was_compacted, progress.tokens_left = False, tokens
    return tokens > max(compaction.threshold, 2 * progress.tokens_left)


async def compact(progress: RunProgress) -> AsyncIterator[Event]:
    """Have the model sum up what it would be shown now. A failure fails the turn."""
    recorded = progress.replay.take_step("inference")
    if recorded:
        for event in apply_recorded_step(progress, recorded):
            yield event
        return
    started = _begin(progress)
    yield started
    while (ended := take_stored_end(progress, started) or end_cut(progress, started)) is not None:
        yield ended
        if not is_cut(ended) or not await may_infer(progress):
            return
        started = _begin(progress)
        yield started
    yield await _summed_up(progress, started)


def _begin(progress: RunProgress) -> StepStarted:
    started = progress.step_started("inference", progress.run.model)
    progress.draft(started.step).sums_up = True
    return started


async def _summed_up(progress: RunProgress, started: StepStarted) -> StepEnded:
    run, draft = progress.run, progress.draft(started.step)
    assert run.compaction is not None  # the caller looked, and what is recorded was taken before
    draft.model = run.inference_model
    end, error, outcome = None, None, "cancelled"
    progress.enter_step(started.step)
    measured = metrics.Inference(run.inference.name)
    try:
        async for chunk in run.inference.stream(_request(progress)):
            match chunk:
                case Finish():
                    end = chunk
                    break
                case Text(text):
                    draft.text.append(text)
                case Reasoning(text):
                    draft.reasoning.append(text)
        outcome = "completed"
        if not draft.text.size:
            error = ErrorInfo(type="provider_error", message="The model gave no summary of the conversation.")
    except AgentsError as failure:
        error, outcome = error_info(failure), "failed"
    finally:
        measured.end(outcome)
        progress.leave_step()
    progress.error = error
    summary = str(draft.text)
    detail = InferenceDetail(
        model_response=CompletionMessage(content=summary, stop_reason="end_of_turn"),
        model=run.inference_model,
        finish_reason=end.reason if end else None,
        reasoning=str(draft.reasoning),
        compaction="" if error else run.compaction.seal(summary),
    )
    progress.summed_up(detail.model_response)
    return progress.step_ended(
        started,
        detail,
        status="failed" if error else "completed",
        usage=end.usage if end else None,
        error=error,
    )


def _request(progress: RunProgress) -> InferenceRequest:
    run = progress.run
    prompt = msgspec.json.encode({"role": "user", "content": PROMPT})
    return InferenceRequest(
        model=run.inference_model,
        messages=[*progress.messages(), prompt],
        sampling=SamplingParams(strategy=run.sampling.strategy),
        options={name: value for name, value in run.options.items() if name not in _OF_ANSWERS},
    )
