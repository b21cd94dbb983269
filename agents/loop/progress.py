"""Where a run stands: its numbers, what is open, what has been said. The only source of events.

Steps and the loop ask it for events; it numbers them, keeps times strictly growing, and knows how
to close whatever is open when a run is stopped from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from agents.base import ids
from agents.loop.protocols.retrieval import Prepared
from agents.loop.protocols.shields import Said
from agents.loop.protocols.tools import Labelled
from agents.loop.replay import Outcome, Player
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
class Draft:
    """What an open step has received so far."""

    started: StepStarted
    text: ChunkedText = field(default_factory=ChunkedText)
    reasoning: ChunkedText = field(default_factory=ChunkedText)
    model: str = ""

    def detail(self) -> StepDetail:
        """What is worth keeping of a step that did not finish."""
        if self.started.step_type == "inference":
            message = CompletionMessage(content=str(self.text), stop_reason="out_of_tokens")
            return InferenceDetail(model_response=message, model=self.model, reasoning=str(self.reasoning))
        return self.started.detail or OtherDetail(kind=self.started.step_type)


def _answered(pending: PendingCall, response: ToolResponse | None) -> ToolDetail:
    responses = [response] if response else []
    if pending.approved is None:
        return ToolDetail(tool_calls=[pending.call], tool_responses=responses)
    word: Literal["approved", "refused"] = "approved" if pending.approved else "refused"
    detail = pending.detail or ToolDetail(tool_calls=[pending.call])
    return detail.model_copy(update={"tool_responses": responses, "approval": word})


async def _at_once() -> None:
    """Nobody records this run."""


class Progress:
    """The state of one run. What is to happen outside only once it stands in the log waits for ``stored``:
    until all that the run has yielded is there."""

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
        self.stored = _at_once
        self._seq = resume.next_seq if resume else 0
        self._number = resume.next_step if resume else 0
        self._ordinal = 0
        self._last_at = 0
        self._open: dict[int, Draft] = {}
        self._items: list[bytes] = []
        self._retrieved = ""
        self._documents = Prepared()
        self._calls_made: list[str] = []
        self.over = False
        self.tape = Player(run.tape)

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
            return TurnResumed(
                seq=seq,
                at=at,
                leg=resume.leg,
                tool_responses=list(resume.responses),
                input_messages=list(resume.messages),
            )
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
        asked: int | None = None,
    ) -> StepStarted:
        """Begin a step; ``call`` for tools, ``waits`` for those only the client can run or approve,
        ``asked`` is the step in which it approved."""
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
            detail=self.tool_detail(call, asks=waits, asked=asked) if call else None,
        )
        self._number += 1
        if not waits:
            self._open[event.step] = Draft(event)
        return event

    def tool_detail(
        self,
        call: ToolCall,
        responses: Sequence[ToolResponse] = (),
        *,
        asks: bool = False,
        asked: int | None = None,
        origin: Origin | None = None,
    ) -> ToolDetail:
        """What a step of a call holds: of a tool of OpenAI's API also which of them it is, and whether
        the step asks for approval or was approved in another."""
        tool = self.run.server_tools.get(call.tool_name)
        if not isinstance(tool, Labelled):
            return ToolDetail(tool_calls=[call], tool_responses=list(responses), origin=origin)
        return ToolDetail(
            tool_calls=[call],
            tool_responses=list(responses),
            origin=origin,
            kind=tool.kind,
            label=tool.label,
            approval="requested" if asks else None,
            asked=None if asked is None else ids.public(ids.Kind.STEP, asked),
        )

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

    def pending_ended(self, pending: PendingCall, response: ToolResponse | None) -> StepEnded:
        """End a step that waited for its client since an earlier leg: for an answer, or for its word
        on a call of ours (refused, that is the answer)."""
        seq, at = self._stamp()
        event = StepEnded(
            seq=seq,
            at=at,
            step=pending.step,
            step_type="tool_execution",
            name=pending.call.tool_name,
            started_at=min(pending.started_at, at - 1),
            detail=_answered(pending, response),
        )
        self._items += items_of(event)
        return event

    def answered(self, pending: PendingCall, outcome: Outcome, heard: Sequence[TurnMessage] = ()) -> StepEnded:
        """End a step of the client's as a record says, without waiting for it."""
        ended = self.pending_ended(pending, outcome.response)
        self.hear(heard)
        detail = ended.detail.model_copy(update={"origin": outcome.origin})
        return ended.model_copy(update={"detail": detail, "heard": list(heard) or None})

    def next_leg(self, run: Run, resume: Resume) -> Run:
        """Go on as a leg does that begins with the client's answers, within this one: what was found for
        the first inference is not told again, and limits count anew where they do for a leg."""
        self.run = replace(run, history=self.run.history, earlier=self.run.earlier, resume=resume)
        self.iterations, self.round = resume.iterations, resume.round
        self._calls_made, self._retrieved, self.message = [], "", None
        return self.run

    # ------------------------------------------------------------------------------------- deltas

    def delta(self, step: int, channel: str, offset: int, text: str, index: int = 0) -> Delta:
        self._ordinal += 1
        return Delta(step, channel, offset, text, self._seq - 1, self._ordinal, index)  # type: ignore[arg-type]  # callers pass literals

    # -------------------------------------------------------------------------------------- tools

    def offer(self, tools: Sequence[Labelled]) -> None:
        """More of the server's tools. A name that is taken already gets its server's before it."""
        known = dict(self.run.server_tools)
        taken = {*known, *(tool.name for tool in self.run.client_tools)}
        for tool in tools:
            name = tool.definition.name
            if name in taken:
                name = f"{tool.label}_{name}"[:200]
                tool = replace(tool, name=name)
            known[name] = tool
            taken.add(name)
        self.run = replace(self.run, server_tools=known)

    def count_calls(self, calls: Sequence[ToolCall]) -> None:
        """These of the server's tools are called now."""
        self._calls_made += [call.call_id for call in calls]

    def spent(self, call: ToolCall) -> bool:
        """Whether a call is beyond those that may be made."""
        limit = self.run.max_tool_calls
        return limit is not None and call.call_id not in self._calls_made[:limit]

    def tools(self) -> Sequence[ToolDef]:
        """What the model may call now: the client's tools alone once the server's calls are used up."""
        limit = self.run.max_tool_calls
        return self.run.client_tools if limit is not None and len(self._calls_made) >= limit else self.run.tools

    # ------------------------------------------------------------------------------------ history

    def remember(self, context: str) -> None:
        """Text found for this turn: it follows the last input message."""
        self._retrieved = context

    def attach(self, documents: Prepared) -> None:
        """What this turn's documents became: it follows the last input message too."""
        self._documents = documents

    def forget_older(self) -> bool:
        """Leave the older half of the history out from now on, from one of the user's messages to
        another; False where there is nothing that may be left out."""
        history = self.run.history
        if not self.run.truncates or not history:
            return False
        middle = (len(history) + 1) // 2
        asked = (place for place in range(middle, len(history)) if history[place].startswith(b'{"role":"user"'))
        self.run = replace(self.run, history=history[next(asked, len(history)) :])
        return True

    def hear(self, messages: Sequence[TurnMessage]) -> None:
        """What the caller said beside its answers."""
        self._items += input_items(messages)

    def messages(self) -> list[bytes]:
        """What the model is sent now: instructions, history, this turn's input, what it did."""
        run = self.run
        head = [system_item(run.instructions)] if run.instructions else []
        return joined_calls([*head, *run.history, *self._input_items(), *run.earlier, *self._items])

    def _input_items(self) -> list[bytes]:
        messages = self.run.input_messages
        if not messages:
            return []
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
        heard = [*self.run.input_messages, *(self.run.resume.messages if self.run.resume else ())]
        asked = [Said("user", text_of(one.content)) for one in heard if one.role in ("user", "tool")]
        return [*asked, Said("assistant", text_of(self.message.content))] if self.message else asked
