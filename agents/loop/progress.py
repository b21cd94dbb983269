"""The state of a run: its numbers, its open steps and its messages. It creates all events.

It numbers the events for steps and loop, keeps times strictly increasing, and closes the open steps when
a run is stopped from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agents.base import ids
from agents.loop.protocols.retrieval import PreparedDocuments
from agents.loop.protocols.shields import ShieldInput
from agents.loop.protocols.tools import HostedTool
from agents.loop.replay import CallOutcome, Replay
from agents.loop.run import PendingCall, Resume, Run
from agents.record.schemas.chunked_text import ChunkedText
from agents.record.schemas.content import (
    CompletionMessage,
    ToolCall,
    ToolDef,
    ToolResponse,
    TurnMessage,
    Usage,
    text_of,
)
from agents.record.schemas.events import (
    Delta,
    DeltaChannel,
    ErrorInfo,
    Event,
    FinalStatus,
    InferenceDetail,
    Origin,
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
from agents.record.schemas.items import input_item, input_items, items_of, joined_calls, system_item


@dataclass(slots=True)
class OpenStep:
    """The part of an open step received so far."""

    started: StepStarted
    text: ChunkedText = field(default_factory=ChunkedText)
    reasoning: ChunkedText = field(default_factory=ChunkedText)
    model: str = ""

    def detail(self) -> StepDetail:
        """Return the detail to store for a step that did not finish."""
        if self.started.step_type == "inference":
            message = CompletionMessage(content=str(self.text), stop_reason="out_of_tokens")
            return InferenceDetail(model_response=message, model=self.model, reasoning=str(self.reasoning))
        return self.started.detail or OtherDetail(kind=self.started.step_type)


def _answered_detail(pending: PendingCall, response: ToolResponse | None) -> ToolDetail:
    responses = [response] if response else []
    if pending.approved is None:
        return ToolDetail(tool_calls=[pending.call], tool_responses=responses)
    approval: Literal["approved", "refused"] = "approved" if pending.approved else "refused"
    detail = pending.detail or ToolDetail(tool_calls=[pending.call])
    return detail.model_copy(update={"tool_responses": responses, "approval": approval})


async def _return_at_once() -> None:
    """Wait for nothing: this run is not recorded."""


class RunProgress:
    """The state of one run. ``wait_until_stored`` waits until all entries that the run has yielded are stored; an
    effect outside, such as a tool's, waits for it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        resume = run.resume
        self.iterations = resume.iterations if resume else 0
        self.round = resume.round if resume else 0
        self.usage = resume.usage if resume else Usage()
        self.message: CompletionMessage | None = None
        self.error: ErrorInfo | None = None
        self.blocked = False
        self.started_inference: StepStarted | None = None
        self.wait_until_stored = _return_at_once
        self._seq = resume.next_seq if resume else 0
        self._number = resume.next_step if resume else 0
        self._ordinal = 0
        self._last_at = 0
        self._open: dict[int, OpenStep] = {}
        self._items: list[bytes] = []
        self._retrieved_context = ""
        self._documents = PreparedDocuments()
        self._made_calls: list[str] = []
        self.is_over = False
        self.replay = Replay(run.recorded_turn)

    # ------------------------------------------------------------------------------------ numbers

    def _stamp(self) -> tuple[int, int]:
        """Return the next event number, and a time after the last event's: readers order steps by time."""
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
            return TurnResumed(
                seq=seq,
                at=at,
                leg=resume.response_number,
                tool_responses=list(resume.responses),
                input_messages=list(resume.messages),
            )
        return TurnStarted(seq=seq, at=at, model=self.run.model, input_messages=list(self.run.input_messages))

    def awaiting(self, message: CompletionMessage) -> TurnAwaiting:
        seq, at = self._stamp()
        self.is_over = True
        return TurnAwaiting(seq=seq, at=at, output_message=message, iterations=self.iterations)

    def ending(self, status: FinalStatus, *, reason: str | None = None, error: ErrorInfo | None = None) -> TurnEnded:
        seq, at = self._stamp()
        self.is_over = True
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
        """Return the events that end a run from outside: open steps end with the same status and keep the
        part they have received. Empty if the run is over already."""
        if self.is_over:
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
        approved_in: int | None = None,
    ) -> StepStarted:
        """Begin a step. ``call`` is for tools, ``waits`` for those that the client must run or approve,
        ``approved_in`` is the step in which the client approved the call."""
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
            detail=self.tool_detail(call, needs_approval=waits, approved_in=approved_in) if call else None,
        )
        self._number += 1
        if not waits:
            self._open[event.step] = OpenStep(event)
        return event

    def tool_detail(
        self,
        call: ToolCall,
        responses: Sequence[ToolResponse] = (),
        *,
        needs_approval: bool = False,
        approved_in: int | None = None,
        origin: Origin | None = None,
    ) -> ToolDetail:
        """Return the detail of a call's step. For a hosted tool of OpenAI's API it has the kind of tool, and
        whether the step requests approval or was approved in another step."""
        tool = self.run.server_tools.get(call.tool_name)
        if not isinstance(tool, HostedTool):
            return ToolDetail(tool_calls=[call], tool_responses=list(responses), origin=origin)
        return ToolDetail(
            tool_calls=[call],
            tool_responses=list(responses),
            origin=origin,
            kind=tool.kind,
            label=tool.label,
            approval="requested" if needs_approval else None,
            asked=None if approved_in is None else ids.public(ids.Kind.STEP, approved_in),
        )

    def draft(self, step: int) -> OpenStep:
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
        """End a step, and add its items to the messages of the next inference."""
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

    def pending_ended(self, pending: PendingCall, response: ToolResponse | None) -> StepEnded:
        """End a step that has waited for its client since an earlier response: for an answer, or for the
        approval of a server's call (a refusal is the answer)."""
        seq, at = self._stamp()
        event = StepEnded(
            seq=seq,
            at=at,
            step=pending.step,
            step_type="tool_execution",
            name=pending.call.tool_name,
            started_at=min(pending.started_at, at - 1),
            detail=_answered_detail(pending, response),
        )
        self._items += items_of(event)
        return event

    def recorded_answer(
        self, pending: PendingCall, outcome: CallOutcome, messages: Sequence[TurnMessage] = ()
    ) -> StepEnded:
        """End a step of the client with a recorded answer, without waiting."""
        ended = self.pending_ended(pending, outcome.response)
        self.add_messages(messages)
        detail = ended.detail.model_copy(update={"origin": outcome.origin})
        return ended.model_copy(update={"detail": detail, "heard": list(messages) or None})

    def next_response(self, run: Run, resume: Resume) -> Run:
        """Continue like a response that begins with the client's answers, within this one: the retrieved
        context is not repeated, and the limits of a response count anew."""
        self.run = replace(run, history=self.run.history, earlier=self.run.earlier, resume=resume)
        self.iterations, self.round = resume.iterations, resume.round
        self._made_calls, self._retrieved_context, self.message = [], "", None
        return self.run

    # ------------------------------------------------------------------------------------- deltas

    def delta(self, step: int, channel: DeltaChannel, offset: int, text: str, index: int = 0) -> Delta:
        self._ordinal += 1
        return Delta(step, channel, offset, text, self._seq - 1, self._ordinal, index)

    # -------------------------------------------------------------------------------------- tools

    def add_tools(self, tools: Sequence[HostedTool]) -> None:
        """Add tools of the server. A name that is taken already is prefixed with its server's label."""
        server_tools = dict(self.run.server_tools)
        used_names = {*server_tools, *(tool.name for tool in self.run.client_tools)}
        for tool in tools:
            name = tool.definition.name
            if name in used_names:
                name = f"{tool.label}_{name}"[:200]
                tool = replace(tool, name=name)
            server_tools[name] = tool
            used_names.add(name)
        self.run = replace(self.run, server_tools=server_tools)

    def count_calls(self, calls: Sequence[ToolCall]) -> None:
        """Count calls of the server's tools towards their limit."""
        self._made_calls += [call.call_id for call in calls]

    def is_over_call_limit(self, call: ToolCall) -> bool:
        """Whether a call exceeds the limit of calls."""
        limit = self.run.max_tool_calls
        return limit is not None and call.call_id not in self._made_calls[:limit]

    def available_tools(self) -> Sequence[ToolDef]:
        """Return the tools that the model may call now: only the client's once the server's calls are used up."""
        limit = self.run.max_tool_calls
        return self.run.client_tools if limit is not None and len(self._made_calls) >= limit else self.run.tools

    # ------------------------------------------------------------------------------------ history

    def set_context(self, context: str) -> None:
        """Set the text retrieved for this turn, which follows the last input message."""
        self._retrieved_context = context

    def set_documents(self, documents: PreparedDocuments) -> None:
        """Set the prepared documents of this turn, which follow the last input message too."""
        self._documents = documents

    def drop_older_history(self) -> bool:
        """Drop the older half of the history, up to a message of the user; returns False if nothing may be
        dropped."""
        history = self.run.history
        if not self.run.truncates or not history:
            return False
        middle = (len(history) + 1) // 2
        user_messages = (index for index in range(middle, len(history)) if history[index].startswith(b'{"role":"user"'))
        self.run = replace(self.run, history=history[next(user_messages, len(history)) :])
        return True

    def add_messages(self, messages: Sequence[TurnMessage]) -> None:
        """Add messages that the caller sent with its answers."""
        self._items += input_items(messages)

    def messages(self) -> list[bytes]:
        """Return the messages for the model: instructions, history, this turn's input, and its items so far."""
        run = self.run
        head = [system_item(run.instructions)] if run.instructions else []
        return joined_calls([*head, *run.history, *self._input_items(), *run.earlier, *self._items])

    def _input_items(self) -> list[bytes]:
        messages = self.run.input_messages
        if not messages:
            return []
        context = "\n\n".join(filter(None, (self.run.context, self._documents.context, self._retrieved_context)))
        *earlier, last = messages
        return [*map(input_item, earlier), input_item(last, context, self._documents.images)]

    def texts(self) -> list[str]:
        """Return the texts so far: this turn's input and the answer."""
        texts = [text_of(message.content) for message in self.run.input_messages]
        return [*texts, text_of(self.message.content)] if self.message else texts

    def shield_input(self) -> list[ShieldInput]:
        """Return the messages for shields: this turn's input, with a tool's answer in it, and the model's last
        message."""
        messages = [*self.run.input_messages, *(self.run.resume.messages if self.run.resume else ())]
        inputs = [
            ShieldInput("user", text_of(message.content)) for message in messages if message.role in ("user", "tool")
        ]
        return [*inputs, ShieldInput("assistant", text_of(self.message.content))] if self.message else inputs
