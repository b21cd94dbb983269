"""The state of a run: its numbers, its open steps and its messages. It creates all events.

It numbers the events for steps and loop, keeps times strictly increasing, and closes the open steps when
a run is stopped from outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from agents.base import ids, log_context, tracing
from agents.loop import unrecorded
from agents.loop.open_step import OpenStep, answered_detail, tool_detail
from agents.loop.protocols.tools import HostedTool
from agents.loop.replay import CallOutcome, Replay
from agents.loop.run import ClientInput, PendingCall, Resume, Run
from agents.loop.run_messages import RunMessages
from agents.loop.stored_events import Diverged, StoredEvents
from agents.record.schemas.content import (
    CompletionMessage,
    ToolCall,
    ToolDef,
    ToolResponse,
    TurnMessage,
    Usage,
)
from agents.record.schemas.events import (
    RULE,
    Delta,
    DeltaChannel,
    ErrorInfo,
    Event,
    FinalStatus,
    InferenceDetail,
    Steering,
    StepDecided,
    StepDetail,
    StepEnded,
    StepInDoubt,
    StepRepeated,
    StepStarted,
    StepType,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
)
from agents.record.schemas.items import items_of


class RunProgress(RunMessages):
    """The state of one run. ``wait_until_stored`` waits until all entries that the run has yielded are stored; an
    effect outside, such as a tool's, waits for it. ``read_input`` reads what its client has sent meanwhile.
    ``check_budgets`` returns why no inference may begin, if so."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        resume = run.resume
        self.iterations = resume.iterations if resume else 0
        self.round = resume.round if resume else 0
        self.usage = resume.usage if resume else Usage()
        self.error: ErrorInfo | None = None
        self.blocked = False
        self.started_inference: StepStarted | None = None
        self.wait_until_stored = unrecorded.return_at_once
        self.read_input: Callable[[], Awaitable[ClientInput | None]] = unrecorded.no_input
        self.check_budgets: Callable[[], Awaitable[ErrorInfo | None]] = unrecorded.no_budgets
        self._seq = resume.next_seq if resume else 0
        self._number = resume.next_step if resume else 0
        self._ordinal = 0
        self._last_at = 0
        self._open: dict[int, OpenStep] = {}
        self._made_calls: list[str] = []
        self._last_round = self.round - 1
        self.is_over = False
        self.replay = Replay(run.recorded_turn)
        self.stored = StoredEvents(run.stored_events)

    # -------------------------------------------------------------------------------------- trace

    def enter_turn(self) -> None:
        """Let log lines tell of this turn, and make it the cause of requests to others."""
        public_id = ids.public(ids.Kind.TURN, self.run.turn)
        log_context.add(turn_id=public_id)
        tracing.current.set(tracing.of_turn(self.run.trace, public_id))

    def enter_step(self, step: int) -> None:
        """Make a step the cause of requests to others."""
        tracing.enter(ids.public(ids.Kind.STEP, step))

    def leave_step(self) -> None:
        """Make the turn the cause of requests to others again."""
        tracing.enter(ids.public(ids.Kind.TURN, self.run.turn))

    # ------------------------------------------------------------------------------------ numbers

    def _stamp(self) -> tuple[int, int]:
        """Return the next event number, and a time after the last event's: readers order steps by time. Raises
        Diverged where another event is stored under that number."""
        if self.stored:
            raise Diverged("The run comes to an event that is not stored, before those that are.")
        self._last_at = max(self.run.clock(), self._last_at + 1)
        seq, self._seq = self._seq, self._seq + 1
        self._ordinal = 0
        return seq, self._last_at

    def _go_to(self, event: Event) -> None:
        """Go to the number and time behind a stored event."""
        self._seq, self._last_at = self.stored.position(event)
        self._ordinal = 0

    def _take_stored(self) -> None:
        """Go behind all stored events; the steps that have no end stay open."""
        while (event := self.stored.take_first()) is not None:
            if isinstance(event, StepStarted) and event.status == "in_progress":
                self._open.setdefault(event.step, OpenStep(event))
            elif isinstance(event, StepEnded):
                self._open.pop(event.step, None)
                self.usage = self.usage + event.usage if event.usage else self.usage
            self._go_to(event)

    @property
    def last_number(self) -> int:
        """The number of the last step; -1 before the first."""
        return self._number - 1

    @property
    def now(self) -> int:
        return max(self.run.clock(), self._last_at + 1)

    # -------------------------------------------------------------------------------------- turns

    def opening(self) -> TurnStarted | TurnResumed:
        if self.stored:
            event = self.stored.take_first()
            if not isinstance(event, TurnStarted | TurnResumed):
                raise Diverged("The response does not begin with its opening.")
            self._go_to(event)
            return event
        seq, at = self._stamp()
        if resume := self.run.resume:
            return TurnResumed(
                seq=seq,
                at=at,
                leg=resume.response_number,
                tool_responses=list(resume.responses),
                input_messages=list(resume.messages),
                steering=resume.steering,
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
        self._take_stored()
        step_status = "failed" if status == "completed" else status
        drafts = list(self._open.values())
        out: list[Event] = [
            self.step_ended(draft.started, draft.detail(), status=step_status, error=error) for draft in drafts
        ]
        for detail in [draft.detail() for draft in drafts]:
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

        def is_next(stored: StepStarted) -> bool:
            return (stored.step_type, stored.name, stored.round) == (step_type, name, self.round)

        event = self.stored.take(StepStarted, is_next, f"a step {step_type} {name}")
        if event is not None:
            self._go_to(event)
        else:
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
                detail=tool_detail(self.run, call, needs_approval=waits, approved_in=approved_in) if call else None,
                agent=self.run.agent,
            )
        self._number, self._last_round = event.number + 1, event.round
        if not waits:
            self._open[event.step] = OpenStep(event)
            self._open[event.step].text.append(self.run.typed_texts.get((event.step, "text"), ""))
            self._open[event.step].reasoning.append(self.run.typed_texts.get((event.step, "reasoning"), ""))
        return event

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
        if (stored := self.stored_end(started)) is not None:
            return stored
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
            waited_us=self.stored.waited_us(started.step),
            error=error,
        )
        self._items += items_of(event)
        return event

    def step_decided(self, started: StepStarted, result: ToolResponse | None) -> StepDecided:
        """Say what the rule of its tool decides about the call of a cut step: that it was made, with what the model is
        told, or that it was not made."""
        seq, at = self._stamp()
        return StepDecided(
            seq=seq, at=at, step=started.step, outcome="done" if result else "not_done", by=RULE, result=result
        )

    def step_in_doubt(self, started: StepStarted) -> StepInDoubt:
        """Say that somebody has to decide what became of the call of a cut step."""
        seq, at = self._stamp()
        return StepInDoubt(seq=seq, at=at, step=started.step)

    def step_repeated(self, started: StepStarted) -> StepRepeated:
        """Say that the call of a cut step is about to be made again."""
        seq, at = self._stamp()
        return StepRepeated(seq=seq, at=at, step=started.step)

    def stored_end(self, started: StepStarted) -> StepEnded | None:
        """Take the stored end of a step, with its usage and its items; None where none is stored. Raises Diverged."""
        if not self.stored.has_ended(started.step):
            return None
        event = self.stored.take(StepEnded, lambda stored: stored.step == started.step, f"the end of {started.name}")
        if event is None:
            return None
        self._open.pop(started.step, None)
        self._go_to(event)
        self.usage = self.usage + event.usage if event.usage else self.usage
        self._items += items_of(event)
        return event

    def pending_ended(self, pending: PendingCall, response: ToolResponse | None, by: str | None = None) -> StepEnded:
        """End a step that has waited for its client since an earlier response: for an answer, or for the
        approval of a server's call (a refusal is the answer). ``by`` is who gave it, None where a record did."""
        stored = self.stored.take(StepEnded, lambda event: event.step == pending.step, "the client's answer")
        if stored is not None:
            self._go_to(stored)
            self._items += items_of(stored.model_copy(update={"heard": None}))  # the caller adds these messages
            return stored
        seq, at = self._stamp()
        started_at = min(pending.started_at, at - 1)
        event = StepEnded(
            seq=seq,
            at=at,
            step=pending.step,
            step_type="tool_execution",
            name=pending.call.tool_name,
            started_at=started_at,
            detail=answered_detail(pending, response, by),
            waited_us=at - started_at,
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
        return ended.model_copy(update={"detail": detail, "heard": list(messages) or None, "waited_us": None})

    def next_response(self, run: Run, resume: Resume) -> Run:
        """Continue like a response that begins with the client's answers, within this one: the retrieved
        context is not repeated, and the limits of a response count anew."""
        self.run = replace(run, history=self.run.history, earlier=self.run.earlier, resume=resume)
        self.iterations, self.round = resume.iterations, resume.round
        self._made_calls, self._retrieved_context, self.message = [], "", None
        self.was_compacted, self.tokens_left = False, 0
        return self.run

    def steering(self, said: ClientInput) -> Resume:
        """Return the beginning of the response that follows this one because its client has steered it."""
        new = Steering(
            response=ids.openai(ids.Kind.RESPONSE, self.run.new_key()),
            step=self._number,
            messages=list(said.messages),
            ids=list(said.ids),
        )
        return Resume(
            response_number=(self.run.resume.response_number if self.run.resume else 1) + 1,
            responses=(),
            pending=(),
            next_seq=self._seq,
            next_step=self._number,
            round=self._last_round + 1,
            iterations=0,
            usage=self.usage,
            steering=new,
        )

    # ------------------------------------------------------------------------------------- deltas

    def delta(self, step: int, channel: DeltaChannel, offset: int, text: str, index: int = 0) -> Delta:
        self._ordinal += 1
        return Delta(step, channel, offset, text, self._seq - 1, self._ordinal, index)

    def text_deltas(self, step: int, offset: int, texts: Sequence[str]) -> list[Delta]:
        """Return the deltas of texts that follow each other from ``offset`` on."""
        after, first = self._seq - 1, self._ordinal + 1
        self._ordinal += len(texts)
        placed = enumerate(zip(accumulate(map(len, texts), initial=offset), texts, strict=False), start=first)
        return [Delta(step, "text", start, text, after, ordinal) for ordinal, (start, text) in placed]

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
