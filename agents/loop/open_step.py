"""What is received of a step before it ends, and what an answered call's step holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base import ids
from agents.loop.protocols.tools import ClientForm, HostedTool
from agents.loop.run import PendingCall, Run
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import (
    CompletionMessage,
    ToolCall,
    ToolResponse,
)
from agents.record.schemas.events import (
    InferenceDetail,
    Origin,
    OtherDetail,
    StepDetail,
    StepStarted,
    ToolDetail,
)


@dataclass(slots=True)
class OpenStep:
    """The part of an open step received so far; ``sums_up`` marks an inference that writes a summary."""

    started: StepStarted
    text: ChunkedText = field(default_factory=ChunkedText)
    reasoning: ChunkedText = field(default_factory=ChunkedText)
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    model: str = ""
    sums_up: bool = False

    def detail(self) -> StepDetail:
        """Return the detail to store for a step that did not finish."""
        if self.started.step_type == "inference":
            message = CompletionMessage(content=str(self.text), stop_reason="out_of_tokens")
            return InferenceDetail(
                model_response=message,
                model=self.model,
                reasoning=str(self.reasoning),
                logprobs=self.logprobs or None,
                compaction="" if self.sums_up else None,
            )
        return self.started.detail or OtherDetail(kind=self.started.step_type)


def answered_detail(pending: PendingCall, response: ToolResponse | None, by: str | None) -> ToolDetail:
    """Return the detail of a call that its client has answered, and who that was; None where a record answers."""
    detail = pending.detail or ToolDetail(tool_calls=[pending.call])
    update: dict[str, Any] = {"tool_responses": [response] if response else [], "answered_by": by or None}
    if pending.approved is not None:
        update["approval"] = "approved" if pending.approved else "refused"
    return detail.model_copy(update=update)


def tool_detail(
    run: Run,
    call: ToolCall,
    responses: Sequence[ToolResponse] = (),
    *,
    needs_approval: bool = False,
    approved_in: int | None = None,
    origin: Origin | None = None,
) -> ToolDetail:
    """Return the detail of a call's step. For a tool of OpenAI's API it has the kind of tool, and for a hosted one
    whether the step requests approval or was approved in another step."""
    tool = run.server_tools.get(call.tool_name)
    if not isinstance(tool, HostedTool):
        form = run.client_forms.get(call.tool_name, ClientForm())
        return ToolDetail(
            tool_calls=[call],
            tool_responses=list(responses),
            origin=origin,
            kind=form.kind,
            label=form.namespace,
        )
    return ToolDetail(
        tool_calls=[call],
        tool_responses=list(responses),
        origin=origin,
        kind=tool.kind,
        label=tool.label,
        approval="requested" if needs_approval else None,
        asked=None if approved_in is None else ids.public(ids.Kind.STEP, approved_in),
    )
