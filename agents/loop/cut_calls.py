"""Calls of tools whose process was lost before their result was stored: made again, decided by their tool's rule, or
left for somebody to decide about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from agents.loop.progress import RunProgress
from agents.loop.protocols.tools import rule_in_doubt
from agents.loop.replay import CallOutcome
from agents.record.schemas.content import ToolCall, ToolResponse
from agents.record.schemas.events import StepDecided, StepInDoubt, StepRepeated, StepStarted

COUNTS_AS_MADE = "(The server stopped during this call. It is not known whether it was made; it was not made again.)"
"""What the model is told of a call that its tool's rule takes as made."""
PendingStep = tuple[StepStarted, ToolCall, CallOutcome | None]
"""A call that has no stored end, and its outcome where that is known already."""


class InDoubt(Exception):
    """Calls were cut that must not be made twice: somebody has to decide what became of them. The last events name
    their steps."""


def outcome_of_cut(progress: RunProgress, call: ToolCall, started: StepStarted) -> CallOutcome | None:
    """Return the result that was decided for a call whose process was lost; None for any other."""
    result = progress.stored.decided_result(started.step)
    return None if result is None else _given(call, result)


def go_on(progress: RunProgress, pending: list[PendingStep]) -> Iterator[StepDecided | StepInDoubt | StepRepeated]:
    """Say what becomes of the cut calls among these, and put in the results that a rule decides. Raises InDoubt where
    somebody has to decide."""
    again: list[StepStarted] = []
    doubtful: list[StepStarted] = []
    for index, (started, call, outcome) in enumerate(pending):
        if outcome is not None or not progress.stored.is_cut(started.step):
            continue
        match _rule(progress, started, call):
            case "wait":
                doubtful.append(started)
            case "done":
                result = ToolResponse(call_id="", tool_name="", content=COUNTS_AS_MADE)
                pending[index] = (started, call, _given(call, result))
                yield progress.step_decided(started, result)
            case "not_done":
                again.append(started)
                yield progress.step_decided(started, None)
            case "repeat":
                again.append(started)
    if doubtful:
        for started in doubtful:
            yield progress.step_in_doubt(started)
        raise InDoubt
    for started in again:
        yield progress.step_repeated(started)


def _rule(progress: RunProgress, started: StepStarted, call: ToolCall) -> Literal["repeat", "wait", "done", "not_done"]:
    """Return what to do about a cut call: one that harms nobody, or that somebody has decided about, is repeated."""
    tool = progress.run.server_tools.get(call.tool_name)
    if tool is None or tool.repeat != "write" or progress.stored.may_repeat(started.step):
        return "repeat"
    return rule_in_doubt(tool)


def _given(call: ToolCall, result: ToolResponse) -> CallOutcome:
    return CallOutcome(result.model_copy(update={"call_id": call.call_id, "tool_name": call.tool_name}), None)
