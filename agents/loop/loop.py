"""The loop: shields, retrieval, inference, tools, and again, until there is an answer.

A `Loop` yields numbered events and deltas; each dialect shows them in its own words. A turn that
needs tools only its client has ends its leg with `TurnAwaiting`; the next leg continues it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from agents.loop import steps
from agents.loop.progress import Progress
from agents.loop.replay import Outcome
from agents.loop.run import PendingCall, Resume, Run
from agents.record.schemas.content import CompletionMessage, ToolCall, ToolResponse, TurnMessage
from agents.record.schemas.events import Entry, ErrorInfo, Event, FinalStatus, Origin, StepStarted, ToolDetail


class Loop:
    """One leg of a turn being run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.progress = Progress(run)
        self._told: set[str] = set()

    def open(self, *, queued: bool = False) -> list[Event]:
        """The first events, apart from the others: they are stored before anybody is answered. In
        most turns that is its start and that of the first inference, which share a commit so; where
        the turn has to wait in line no step begins yet."""
        run, opening = self.run, self.progress.opening()
        if run.resume:
            return [opening, *self._answered(run.resume)]
        if queued or run.input_shields or run.memory or run.documents or run.sources:
            return [opening]
        return [opening, steps.begin_inference(self.progress)]

    def with_history(self, history: Sequence[bytes], earlier: Sequence[bytes] = ()) -> None:
        """Hand in what was said before. Apart from the rest of the run: it can be read only once
        the session is locked, and the lock is taken with the first event."""
        self.run = self.progress.run = replace(self.run, history=history, earlier=earlier)

    def close(self, status: FinalStatus, *, reason: str | None = None, error: ErrorInfo | None = None) -> list[Event]:
        """The events that end the leg from outside (cancelled, interrupted, failed)."""
        return self.progress.close(status, reason=reason, error=error)

    async def events(self) -> AsyncIterator[Entry]:
        """Everything after `open`, to the end of the leg."""
        progress = self.progress
        async for entry in self._prepare():
            yield entry
        while not progress.blocked and progress.error is None:
            async for entry in steps.infer(progress):
                yield entry
            next_round = progress.round + 1
            async for entry in self._act(next_round):
                yield entry
            if progress.over:
                return
            if progress.round != next_round:
                break
        async for entry in self._finish():
            yield entry

    # ------------------------------------------------------------------------------------ the parts

    async def _act(self, next_round: int) -> AsyncIterator[Entry]:
        """What follows an inference. The round moves on where another inference is to follow."""
        progress, calls = self.progress, self._calls()
        if progress.error is None and not calls and progress.tape.plays:
            async for entry in self._unseen(next_round):
                yield entry
        if progress.error or not calls:
            return
        if progress.iterations >= self.run.max_infer_iters and not self._are_the_clients(calls):
            return
        async for entry in self._tools(calls):
            yield entry
        progress.round = next_round

    def _answered(self, resume: Resume) -> list[Event]:
        """On a resume: the steps whose answers have come."""
        if not resume.pending:
            return self._unasked(list(resume.responses))
        answers = {response.call_id: response for response in resume.responses}
        ended: list[Event] = [
            self.progress.pending_ended(pending, answers.get(pending.call.call_id)) for pending in resume.pending
        ]
        self.progress.hear(resume.messages)
        return ended

    def _unasked(self, responses: list[ToolResponse], origin: Origin | None = None) -> list[Event]:
        """Answers to calls the server never saw: one step that says what came back."""
        started = self.progress.step_started("tool_execution", responses[0].tool_name)
        detail = ToolDetail(tool_calls=[], tool_responses=responses, origin=origin)
        return [started, self.progress.step_ended(started, detail)]

    async def _unseen(self, next_round: int) -> AsyncIterator[Entry]:
        """In a fork, where the source was over and its client went on with answers to calls that the server
        never saw: the same again. The round stays where there are none."""
        progress = self.progress
        answers = progress.tape.unasked(steps.words_of(progress.message))
        if answers is None:
            return
        async for entry in self._shield_output():
            yield entry
        if progress.blocked or progress.error:
            return
        progress.round = next_round
        for event in self._unasked(*answers):
            yield event
        async for entry in self._next_leg([]):
            yield entry

    async def _prepare(self) -> AsyncIterator[Entry]:
        progress, run = self.progress, self.run
        if run.input_shields:
            async for entry in steps.check_shields(progress, run.input_shields, "user-input"):
                yield entry
        if run.sources and not progress.blocked:
            async for entry in steps.list_tools(progress):
                yield entry
        if run.documents and not progress.blocked:
            await steps.prepare_documents(progress)
        if run.memory and run.resume is None and not progress.blocked and progress.error is None:
            async for entry in steps.retrieve(progress):
                yield entry
        async for entry in self._approved():
            yield entry

    async def _approved(self) -> AsyncIterator[Entry]:
        """On a resume: the calls of ours that the client let us make."""
        resume, progress = self.run.resume, self.progress
        asked = {one.call.call_id: one.step for one in resume.pending if one.approved} if resume else {}
        if resume and asked and not progress.blocked and progress.error is None:
            calls = [one.call for one in resume.pending if one.approved]
            async for entry in steps.run_tools(progress, calls, asked):
                yield entry

    def _are_the_clients(self, calls: list[ToolCall]) -> bool:
        """Whether calls at the bound of rounds are handed out all the same."""
        return self.run.ends_with_client_calls and all(steps.waits_for_client(self.progress, call) for call in calls)

    def _calls(self) -> list[ToolCall]:
        message = self.progress.message
        if message is None or message.stop_reason == "out_of_tokens":
            return []
        return message.tool_calls

    async def _tools(self, calls: list[ToolCall]) -> AsyncIterator[Entry]:
        """The server's calls first; then, if the client has some to make, wait for it."""
        progress = self.progress
        theirs = [call for call in calls if steps.waits_for_client(progress, call)]
        ours = [call for call in calls if call not in theirs]
        if ours:
            async for entry in steps.run_tools(progress, ours):
                yield entry
        if theirs:
            async for entry in self._wait(theirs):
                yield entry

    async def _wait(self, calls: list[ToolCall]) -> AsyncIterator[Entry]:
        """Shields first, as at any end of a leg; then the open calls and the last event."""
        progress, said = self.progress, self.progress.message
        async for entry in self._shield_output():
            yield entry
        if progress.blocked or progress.error:
            for event in self._end():
                yield event
            return
        assert said is not None  # calls come from a message
        started = [progress.step_started("tool_execution", one.tool_name, call=one, waits=True) for one in calls]
        for event in started:
            yield event
        if progress.tape.plays:
            async for entry in self._answer(calls, started):
                yield entry
            calls = [call for call in calls if call.call_id not in self._told]
        if calls:
            yield progress.awaiting(said.model_copy(update={"tool_calls": calls}))

    # -------------------------------------------------------------------------------------- forks

    async def _answer(self, calls: list[ToolCall], started: list[StepStarted]) -> AsyncIterator[Entry]:
        """In a fork: answer what a record tells of the client's calls, and go on if that is all of them."""
        progress = self.progress
        known: list[tuple[PendingCall, Outcome]] = []
        for call, event in zip(calls, started, strict=True):
            outcome = progress.tape.outcome(call, asks=bool(event.detail and event.detail.approval))
            if outcome:
                known.append((_pending(call, event, outcome), outcome))
        self._told = {pending.call.call_id for pending, _ in known}
        heard = self._heard() if len(known) == len(calls) else ()
        for place, (pending, outcome) in enumerate(known, start=1):
            yield progress.answered(pending, outcome, heard if place == len(calls) else ())
        if len(known) == len(calls):
            progress.round += 1
            async for entry in self._next_leg([pending for pending, _ in known]):
                yield entry

    def _heard(self) -> Sequence[TurnMessage]:
        leg = self.progress.tape.peek_leg()
        return leg.messages if leg else ()

    async def _next_leg(self, pending: list[PendingCall]) -> AsyncIterator[Entry]:
        """What a leg begins with that the client's answers start, within this one."""
        progress, leg = self.progress, self.progress.tape.next_leg()
        resume = Resume(
            leg=0,
            responses=(),
            pending=pending,
            next_seq=0,
            next_step=0,
            round=progress.round,
            iterations=0 if leg and leg.restarts else progress.iterations,
            usage=progress.usage,
            messages=leg.messages if leg else (),
        )
        self.run = progress.next_leg(leg.run if leg else self.run, resume)
        async for entry in self._prepare():
            yield entry

    async def _shield_output(self) -> AsyncIterator[Entry]:
        if self.run.output_shields and not self.progress.blocked and self.progress.error is None:
            async for entry in steps.check_shields(self.progress, self.run.output_shields, "assistant-output"):
                yield entry

    async def _finish(self) -> AsyncIterator[Entry]:
        async for entry in self._shield_output():
            yield entry
        for event in self._end():
            yield event

    def _end(self) -> list[Event]:
        progress = self.progress
        if progress.error:
            return [progress.ending("failed", error=progress.error)]
        reason = None
        if progress.blocked:
            reason = "violation"
        elif progress.message and progress.message.tool_calls:
            progress.message = _last_word(progress.message)
            reason = "max_infer_iters"
        return [progress.ending("completed", reason=reason)]


def _pending(call: ToolCall, event: StepStarted, outcome: Outcome) -> PendingCall:
    approved = None if outcome.approval is None else outcome.approval == "approved"
    return PendingCall(event.step, call, event.at, approved, event.detail)


def _last_word(message: CompletionMessage) -> CompletionMessage:
    """At the limit of iterations the turn ends although the model wants another tool: the message
    keeps its calls and says it is the end, which clients take for the end."""
    if message.stop_reason == "out_of_tokens":
        return message
    return message.model_copy(update={"stop_reason": "end_of_turn"})
