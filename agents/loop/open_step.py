"""What is received of a step before it ends, and what an answered call's step holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agents.loop.run import PendingCall
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import (
    CompletionMessage,
    ToolResponse,
)
from agents.record.schemas.events import (
    InferenceDetail,
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
                compaction="" if self.sums_up else None,
            )
        return self.started.detail or OtherDetail(kind=self.started.step_type)


def answered_detail(pending: PendingCall, response: ToolResponse | None) -> ToolDetail:
    responses = [response] if response else []
    detail = pending.detail or ToolDetail(tool_calls=[pending.call])
    if pending.approved is None:
        return detail.model_copy(update={"tool_responses": responses})
    approval: Literal["approved", "refused"] = "approved" if pending.approved else "refused"
    return detail.model_copy(update={"tool_responses": responses, "approval": approval})
