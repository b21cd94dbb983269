"""Where a run stands: its numbers, what is open, what has been said. The only source of events.

Steps and the loop ask it for events; it numbers them, keeps times strictly growing, and knows how
to close whatever is open when a run is stopped from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.providers.memory.base import Prepared
from agents.providers.safety.base import Said
from agents.runtime.run import Run
from agents.schemas.content import CompletionMessage, ToolCall, ToolResponse, Usage, text_of
from agents.schemas.events import (
    Delta,
    ErrorInfo,
    Event,
    FinalStatus,
    InferenceDetail,
    OtherDetail,
    StepDetail,
    StepEnded,
    StepStarted,
    StepType,
    ToolDetail,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from agents.schemas.items import input_item, items_of, system_item


@dataclass(slots=True)
class Draft:
    """What an open step has received so far, in pieces."""

    started: StepStarted
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    model: str = ""

    def detail(self) -> StepDetail:
        """What is worth keeping of a step that did not finish."""
        if self.started.step_type == "inference":
            message = CompletionMessage(content="".join(self.text), stop_reason="out_of_tokens")
            return InferenceDetail(model_response=message, model=self.model, reasoning="".join(self.reasoning))
        return self.started.detail or OtherDetail(kind=self.started.step_type)


class Progress:
    """The state of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        resume = run.resume
        self.iterations = resume.iterations if resume else 0
        self.round = resume.round if resume else 0
        self.usage = resume.usage if resume else Usage()
        self.message: CompletionMessage | None = None
        self.error: ErrorInfo | None = None
        self.blocked = False
        self.begun: StepStarted | None = None
        self._seq = resume.next_seq if resume else 0
        self._number = resume.next_step if resume else 0
        self._ordinal = 0
        self._last_at = 0
        self._open: dict[int, Draft] = {}
        self._items: list[bytes] = []
        self._retrieved = ""
        self._documents = Prepared()
        self.over = False

    # ------------------------------------------------------------------------------------ numbers

    def _stamp(self) -> tuple[int, int]:
        """The next number and a moment later than the last one: readers order steps by time."""
        self._last_at = max(self.run.clock(), self._last_at + 1)
        seq, self._seq = self._seq, self._seq + 1
        self._ordinal = 0
        return seq, self._last_at

    @property
    def now(self) -> int:
        return max(self.run.clock(), self._last_at + 1)

    # -------------------------------------------------------------------------------------- turns

    def opening(self) -> TurnStarted | TurnResumed:
        seq, at = self._stamp()
        resume = self.run.resume
        if resume:
            return TurnResumed(seq=seq, at=at, leg=resume.leg, tool_responses=list(resume.responses))
        return TurnStarted(seq=seq, at=at, model=self.run.model, input_messages=list(self.run.input_messages))

    def awaiting(self, message: CompletionMessage) -> TurnAwaiting:
        seq, at = self._stamp()
        self.over = True
        return TurnAwaiting(seq=seq, at=at, output_message=message, iterations=self.iterations)

    def ending(self, status: FinalStatus, *, reason: str | None = None, error: ErrorInfo | None = None) -> TurnEnded:
        seq, at = self._stamp()
        self.over = True
        return TurnEnded(
            seq=seq,
            at=at,
            status=status,
            output_message=self.message,
            usage=self.usage,
            iterations=self.iterations,
            error=error,
            reason=reason,
        )

    def close(self, status: FinalStatus, *, reason: str | None = None, error: ErrorInfo | None = None) -> list[Event]:
        """The events that end a run from outside: whatever is open ends with the same status and
        keeps what it has received. Nothing, when the run is over already."""
        if self.over:
            return []
        step_status = "failed" if status == "completed" else status
        drafts = list(self._open.values())
        out: list[Event] = [
            self.step_ended(draft.started, draft.detail(), status=step_status, error=error) for draft in drafts
        ]
        for draft in drafts:
            detail = draft.detail()
            if isinstance(detail, InferenceDetail):
                self.message = detail.model_response
        return [*out, self.ending(status, reason=reason, error=error)]

    # -------------------------------------------------------------------------------------- steps

    def step_started(
        self,
        step_type: StepType,
        name: str,
        *,
        call: ToolCall | None = None,
        waits: bool = False,
    ) -> StepStarted:
        """Begin a step; ``call`` for tools, ``waits`` for those only the client can run."""
        seq, at = self._stamp()
        event = StepStarted(
            seq=seq,
            at=at,
            step=self.run.new_key(),
            number=self._number,
            round=self.round,
            step_type=step_type,
            name=name,
            server_side=not waits,
            status="awaiting_input" if waits else "in_progress",
            detail=ToolDetail(tool_calls=[call]) if call else None,
        )
        self._number += 1
        if not waits:
            self._open[event.step] = Draft(event)
        return event

    def draft(self, step: int) -> Draft:
        return self._open[step]

    def step_ended(
        self,
        started: StepStarted,
        detail: StepDetail,
        *,
        status: FinalStatus = "completed",
        usage: Usage | None = None,
        ttft_us: int | None = None,
        error: ErrorInfo | None = None,
    ) -> StepEnded:
        """End a step; what it adds to the conversation is remembered for the next inference."""
        self._open.pop(started.step, None)
        seq, at = self._stamp()
        if usage:
            self.usage = self.usage + usage
        event = StepEnded(
            seq=seq,
            at=at,
            step=started.step,
            step_type=started.step_type,
            name=started.name,
            status=status,
            started_at=started.at,
            detail=detail,
            usage=usage,
            ttft_us=ttft_us,
            error=error,
        )
        self._items += items_of(event)
        return event

    def pending_ended(self, step: int, started_at: int, call: ToolCall, response: ToolResponse) -> StepEnded:
        """End a step that waited for its client since an earlier leg."""
        seq, at = self._stamp()
        event = StepEnded(
            seq=seq,
            at=at,
            step=step,
            step_type="tool_execution",
            name=call.tool_name,
            started_at=min(started_at, at - 1),
            detail=ToolDetail(tool_calls=[call], tool_responses=[response]),
        )
        self._items += items_of(event)
        return event

    # ------------------------------------------------------------------------------------- deltas

    def delta(self, step: int, channel: str, offset: int, text: str, index: int = 0) -> Delta:
        self._ordinal += 1
        return Delta(step, channel, offset, text, self._seq - 1, self._ordinal, index)  # type: ignore[arg-type]  # callers pass literals

    # ------------------------------------------------------------------------------------ history

    def remember(self, context: str) -> None:
        """Text found for this turn: it follows the last input message."""
        self._retrieved = context

    def attach(self, documents: Prepared) -> None:
        """What this turn's documents became: it follows the last input message too."""
        self._documents = documents

    def messages(self) -> list[bytes]:
        """What the model is sent now: instructions, history, this turn's input, what it did."""
        run = self.run
        head = [system_item(run.instructions)] if run.instructions else []
        return [*head, *run.history, *self._input_items(), *run.earlier, *self._items]

    def _input_items(self) -> list[bytes]:
        messages = self.run.input_messages
        context = "\n\n".join(filter(None, (self.run.context, self._documents.context, self._retrieved)))
        *before, last = messages
        return [*map(input_item, before), input_item(last, context, self._documents.images)]

    def texts(self) -> list[str]:
        """The words so far: this turn's input and the answer."""
        spoken: Sequence[object] = [message.content for message in self.run.input_messages]
        texts = [text_of(content) for content in spoken]  # type: ignore[arg-type]  # contents of messages
        return [*texts, text_of(self.message.content)] if self.message else texts

    def said(self) -> list[Said]:
        """What shields look at: this turn's input, a tool's answer in it too, and what the model
        said last."""
        asked = [Said("user", text_of(message.content)) for message in self.run.input_messages]
        return [*asked, Said("assistant", text_of(self.message.content))] if self.message else asked
