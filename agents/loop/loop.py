"""The agent loop: shields, retrieval, inference, tools, and inference again, until there is an answer.

A `Loop` yields numbered events and deltas; each API encodes them in its own format. A turn that needs
tools of its client ends its response with `TurnAwaiting`; the next response continues the turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from agents.base.errors import AgentsError
from agents.loop import client_input, compaction, steps, tool_steps
from agents.loop.progress import RunProgress
from agents.loop.protocols.tools import HandsOver, hand_over_of
from agents.loop.replay import CallOutcome
from agents.loop.run import PendingCall, Resume, Run
from agents.record.schemas.content import CompletionMessage, ToolCall, ToolResponse, TurnMessage
from agents.record.schemas.events import (
    Entry,
    ErrorInfo,
    Event,
    FinalStatus,
    Origin,
    Output,
    StepEnded,
    StepStarted,
    ToolDetail,
)


class Loop:
    """The execution of one response of a turn."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.progress = RunProgress(run)
        self._begun = run
        self._answered_calls: set[str] = set()
        self._handed_over: tuple[HandsOver, int, int] | None = None

    def open(self, *, queued: bool = False) -> list[Event]:
        """Return the first events. They are separate because they are stored before the request is answered.
        In most turns they are the start of the turn and of the first inference, which then share a commit;
        a queued turn begins no step yet."""
        run, opening = self.run, self.progress.opening()
        if run.resume:
            return [opening, *self._end_pending(run.resume)]
        prepares = run.input_shields or run.retriever or run.documents or run.tool_sources or run.left_out
        if queued or prepares or run.compaction or run.approved_calls:
            return [opening]
        return [opening, steps.begin_inference(self.progress)]

    def with_history(self, history: Sequence[bytes], earlier: Sequence[bytes] = ()) -> None:
        """Add the history to the run. It is not part of the run from the start, because it can be read only
        once the session is locked, and storing the first event takes the lock."""
        self.run = self.progress.run = replace(self.run, history=history, earlier=earlier)

    def close(self, status: FinalStatus, *, reason: str | None = None, error: ErrorInfo | None = None) -> list[Event]:
        """Return the events that end the response from outside (cancelled, interrupted, failed)."""
        return self.progress.close(status, reason=reason, error=error)

    async def events(self) -> AsyncIterator[Entry]:
        """Yield what `outputs` does, one by one."""
        async for output in self.outputs():
            for entry in output if isinstance(output, list) else (output,):
                yield entry

    def outputs(self) -> AsyncIterator[Output]:
        """Return all entries after those of `open`, to the end of the response; of a run that is taken over, those
        that are not stored yet. Raises InDoubt, Diverged for such a run only."""
        return self._unstored() if self.run.stored_events else self._outputs()

    async def _unstored(self) -> AsyncIterator[Output]:
        upto = self.progress.stored.upto
        async for output in self._outputs():
            if isinstance(output, list) or output.seq > upto:
                yield output

    async def _outputs(self) -> AsyncIterator[Output]:
        progress = self.progress
        progress.enter_turn()
        async for entry in self._prepare():
            yield entry
        async for entry in self._hear():
            yield entry
        while not progress.blocked and progress.error is None:
            async for output in self._infer():
                yield output
            next_round = progress.round + 1
            async for entry in self._act(next_round):
                yield entry
            if progress.is_over:
                return
            async for entry in self._hear(next_round):
                yield entry
            if progress.round < next_round:
                break
        async for entry in self._finish():
            yield entry

    async def _hear(self, next_round: int | None = None) -> AsyncIterator[Event]:
        """Take what the client has sent meanwhile; after an answer it is answered in ``next_round``. A turn that ends
        for another reason than that its model is done takes nothing more."""
        progress = self.progress
        is_answered = next_round is not None and progress.round != next_round
        if progress.started_inference or progress.blocked or progress.error or (is_answered and self._calls()):
            return
        if self.run.is_steerable and not progress.replay.is_fork:
            heard = self._be_steered()
        elif is_answered and progress.iterations >= self.run.max_infer_iters:
            return
        else:
            heard = self._take_input(next_round if is_answered else None)
        async for entry in heard:
            yield entry

    async def _take_input(self, next_round: int | None) -> AsyncIterator[Event]:
        progress = self.progress
        heard, message = len(progress.heard), progress.message
        async for entry in client_input.take(progress):
            yield entry
        if len(progress.heard) == heard:
            return
        if self.run.input_shields:
            progress.message = None
            async for entry in steps.check_shields(progress, self.run.input_shields, "user-input"):
                yield entry
            progress.message = progress.message or message
        if next_round is not None:
            progress.round = next_round

    async def _be_steered(self) -> AsyncIterator[Event]:
        """Begin the next response with what the client has sent meanwhile, as often as there is something. What was
        said before is shown once its shields have passed it."""
        progress = self.progress
        while (resume := await client_input.steering(progress)) is not None:
            async for entry in self._shield_output():
                yield entry
            if progress.blocked or progress.error:
                return
            self.run = progress.next_response(self._begun, resume)
            await self._go_on_as_agent()
            for event in (progress.opening(), *self._end_pending(resume)):
                yield event
            async for entry in self._prepare():
                yield entry
            if progress.blocked or progress.error:
                return

    # ------------------------------------------------------------------------------------ the parts

    @property
    def _sums_up_only(self) -> bool:
        return self.run.compaction is not None and self.run.compaction.is_only

    async def _infer(self) -> AsyncIterator[Output]:
        """Run an inference, after a summary where one is due; a request may ask for that alone."""
        progress = self.progress
        sums_up = self._sums_up_only or compaction.is_due(progress)
        if sums_up and await steps.may_infer(progress):
            async for entry in compaction.compact(progress):
                yield entry
        if not self._sums_up_only and progress.error is None and await steps.may_infer(progress):
            async for output in steps.infer(progress):
                yield output

    async def _act(self, next_round: int) -> AsyncIterator[Event]:
        """Run the calls of an inference. ``progress.round`` becomes ``next_round`` if another inference is to
        follow."""
        progress, calls = self.progress, self._calls()
        if progress.error is None and not calls and progress.replay.is_fork:
            async for entry in self._replay_unseen_answers(next_round):
                yield entry
        if progress.error or not calls:
            return
        if progress.iterations >= self.run.max_infer_iters and not self._are_client_calls(calls):
            return
        async for entry in self._run_calls(calls):
            yield entry
        progress.round = next_round

    def _end_pending(self, resume: Resume) -> list[Event]:
        """On a resume, end the steps whose answers have arrived."""
        if resume.steering is not None:
            return client_input.steered(self.progress, resume.steering)
        if not resume.pending:
            return self._unseen_step(list(resume.responses))
        answers = {response.call_id: response for response in resume.responses}
        ended: list[Event] = [
            self.progress.pending_ended(pending, answers.get(pending.call.call_id), self.run.actor)
            for pending in resume.pending
        ]
        self.progress.add_messages(resume.messages)
        return ended

    def _unseen_step(self, responses: list[ToolResponse], origin: Origin | None = None) -> list[Event]:
        """Record answers to calls the server never saw as one step."""
        started = self.progress.step_started("tool_execution", responses[0].tool_name)
        by = self.run.actor or None if origin is None else None  # a record is not answered anew
        detail = ToolDetail(tool_calls=[], tool_responses=responses, origin=origin, answered_by=by)
        return [started, self.progress.step_ended(started, detail)]

    async def _replay_unseen_answers(self, next_round: int) -> AsyncIterator[Event]:
        """In a fork, repeat the answers to calls that the server never saw, with which the client continued the
        source after its end. The round stays the same if there are none."""
        progress = self.progress
        answers = progress.replay.unseen_answers(steps.message_text(progress.message))
        if answers is None:
            return
        async for entry in self._shield_output():
            yield entry
        if progress.blocked or progress.error:
            return
        progress.round = next_round
        for event in self._unseen_step(*answers):
            yield event
        async for entry in self._next_response([]):
            yield entry

    async def _prepare(self) -> AsyncIterator[Event]:
        progress, run = self.progress, self.run
        if run.input_shields:
            async for entry in steps.check_shields(progress, run.input_shields, "user-input"):
                yield entry
        if not progress.blocked:
            async for entry in tool_steps.gather_tools(progress):
                yield entry
        if run.documents and not progress.blocked:
            await steps.prepare_documents(progress)
        if run.retriever and run.resume is None and not progress.blocked and progress.error is None:
            async for entry in steps.retrieve(progress):
                yield entry
        async for entry in self._run_approved():
            yield entry

    async def _run_approved(self) -> AsyncIterator[Event]:
        """Run the server's calls that the client has approved: on a resume those that it waited for, else those of a
        history that the client keeps."""
        resume, progress = self.run.resume, self.progress
        if resume is None and self.run.approved_calls and not progress.blocked and progress.error is None:
            async for entry in tool_steps.run_approved(progress):
                yield entry
        approval_steps = (
            {pending.call.call_id: pending.step for pending in resume.pending if pending.approved} if resume else {}
        )
        if resume and approval_steps and not progress.blocked and progress.error is None:
            calls = [pending.call for pending in resume.pending if pending.approved]
            async for entry in tool_steps.run_tools(progress, calls, approval_steps):
                yield entry

    def _are_client_calls(self, calls: list[ToolCall]) -> bool:
        """Whether these calls may be given to the client although the limit of rounds is reached."""
        return self.run.ends_with_client_calls and all(
            tool_steps.waits_for_client(self.progress, call) for call in calls
        )

    def _calls(self) -> list[ToolCall]:
        message = self.progress.message
        if message is None or message.stop_reason == "out_of_tokens":
            return []
        return message.tool_calls

    async def _run_calls(self, calls: list[ToolCall]) -> AsyncIterator[Event]:
        """Run the server's calls first; then, if there are calls for the client, wait for it."""
        progress = self.progress
        client_calls = [call for call in calls if tool_steps.waits_for_client(progress, call)]
        server_calls = [call for call in calls if call not in client_calls]
        if server_calls:
            async for entry in self._run_server_calls(server_calls):
                yield entry
        if client_calls and progress.error is None:
            async for entry in self._await_client(client_calls):
                yield entry

    async def _run_server_calls(self, calls: list[ToolCall]) -> AsyncIterator[Event]:
        """Run calls. After one that hands the turn over the other agent goes on; of several the last one counts."""
        progress, before = self.progress, self._handed_over
        async for entry in tool_steps.run_tools(progress, calls):
            yield entry
            if isinstance(entry, StepEnded) and entry.status == "completed":
                hands_over = hand_over_of(progress.run.server_tools.get(entry.name))
                self._handed_over = (hands_over, entry.step, progress.last_number) if hands_over else self._handed_over
        if self._handed_over is not before:
            await self._go_on_as_agent()
        if self._handed_over is not before and progress.error is None:
            async for entry in tool_steps.gather_tools(progress):
                yield entry

    async def _go_on_as_agent(self) -> None:
        """Go on as the agent that the turn was handed over to, if it was."""
        if self._handed_over is None:
            return
        hands_over, step, number = self._handed_over
        try:
            self.run = self.progress.run = await hands_over(self.progress.run, step, number)
        except AgentsError as error:
            self.progress.error = steps.error_info(error)

    async def _await_client(self, calls: list[ToolCall]) -> AsyncIterator[Event]:
        """Check the output with shields, as at any end of a response; then begin the client's calls and end."""
        progress, message = self.progress, self.progress.message
        async for entry in self._shield_output():
            yield entry
        if progress.blocked or progress.error:
            for event in self._last_events():
                yield event
            return
        assert message is not None  # calls come from a message
        started = [
            progress.step_started("tool_execution", tool_call.tool_name, call=tool_call, waits=True)
            for tool_call in calls
        ]
        for event in started:
            yield event
        if progress.replay.is_fork:
            async for entry in self._replay_answers(calls, started):
                yield entry
            calls = [call for call in calls if call.call_id not in self._answered_calls]
        if calls:
            yield progress.awaiting(message.model_copy(update={"tool_calls": calls}))

    # -------------------------------------------------------------------------------------- forks

    async def _replay_answers(self, calls: list[ToolCall], started: list[StepStarted]) -> AsyncIterator[Event]:
        """In a fork, answer the client's calls from the record, and continue if all of them are answered."""
        progress = self.progress
        answered: list[tuple[PendingCall, CallOutcome]] = []
        for call, event in zip(calls, started, strict=True):
            outcome = progress.replay.outcome(call, is_approval=bool(event.detail and event.detail.approval))
            if outcome:
                answered.append((_pending(call, event, outcome), outcome))
        self._answered_calls = {pending.call.call_id for pending, _ in answered}
        messages = self._recorded_messages() if len(answered) == len(calls) else ()
        for position, (pending, outcome) in enumerate(answered, start=1):
            yield progress.recorded_answer(pending, outcome, messages if position == len(calls) else ())
        if len(answered) == len(calls):
            progress.round += 1
            async for entry in self._next_response([pending for pending, _ in answered]):
                yield entry

    def _recorded_messages(self) -> Sequence[TurnMessage]:
        next_response = self.progress.replay.peek_response()
        return next_response.messages if next_response else ()

    async def _next_response(self, pending: list[PendingCall]) -> AsyncIterator[Event]:
        """Begin the next response of the source, which the client's answers started, within this one."""
        progress, recorded = self.progress, self.progress.replay.take_response()
        resume = Resume(
            response_number=0,
            responses=(),
            pending=pending,
            next_seq=0,
            next_step=0,
            round=progress.round,
            iterations=0 if recorded and recorded.restarts else progress.iterations,
            usage=progress.usage,
            messages=recorded.messages if recorded else (),
        )
        self.run = progress.next_response(recorded.run if recorded else self.run, resume)
        await self._go_on_as_agent()
        async for entry in self._prepare():
            yield entry

    async def _shield_output(self) -> AsyncIterator[Event]:
        if self.run.output_shields and not self.progress.blocked and self.progress.error is None:
            async for entry in steps.check_shields(self.progress, self.run.output_shields, "assistant-output"):
                yield entry

    async def _finish(self) -> AsyncIterator[Event]:
        async for entry in self._shield_output():
            yield entry
        for event in self._last_events():
            yield event

    def _last_events(self) -> list[Event]:
        progress = self.progress
        if progress.error:
            return [progress.ending("failed", error=progress.error)]
        reason = None
        if progress.blocked:
            reason = "violation"
        elif progress.message and progress.message.tool_calls:
            progress.message = _final_message(progress.message)
            reason = "max_infer_iters"
        return [progress.ending("completed", reason=reason)]


def _pending(call: ToolCall, event: StepStarted, outcome: CallOutcome) -> PendingCall:
    approved = None if outcome.approval is None else outcome.approval == "approved"
    return PendingCall(event.step, call, event.at, approved, event.detail)


def _final_message(message: CompletionMessage) -> CompletionMessage:
    """Return the last message of a turn that ends at the limit of iterations although the model called
    another tool: it keeps its calls, and its stop reason tells clients that the turn has ended."""
    if message.stop_reason == "out_of_tokens":
        return message
    return message.model_copy(update={"stop_reason": "end_of_turn"})
