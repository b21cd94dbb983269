"""The service that views call to start, resume and cancel turns. It is sync; its methods return once the
first event is stored and the run has been started."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec

from agents.base import ids, tracing
from agents.base.access import Actor
from agents.base.errors import AgentsError, Conflict, InvalidRequest, Unavailable
from agents.base.reading import read
from agents.base.store import processes
from agents.base.store.writer import writer
from agents.loop import hand_over, places
from agents.loop.extensions import extensions
from agents.loop.loop import Loop
from agents.loop.places import Place
from agents.loop.prepare import build_run, client_tool_names, without_client
from agents.loop.provider_set import Part, Providers
from agents.loop.remote_stops import RemoteStops
from agents.loop.run import PendingCall, Resume, Run
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.senders import present_actor
from agents.loop.sent_request import SentRequest
from agents.loop.tasks import Runner
from agents.record.models.choices import TurnStatus
from agents.record.schemas.agents import AgentConfig, ForkSettings
from agents.record.schemas.content import ToolCall, ToolResponse, Usage
from agents.record.schemas.events import ErrorInfo, Event, ToolDetail
from agents.record.schemas.turns import MESSAGES
from agents.record.store import agents as agent_store
from agents.record.store import closing, forks, history, inputs, read_turns, retries, sessions, start_turn, turns
from agents.record.store.agents import AgentRecord
from agents.record.store.recorder import TurnRef
from agents.record.store.start_turn import NewTurn, Resumption
from agents.record.store.turns import AwaitedCall, TurnTarget

log = logging.getLogger(__name__)
MAX_CANCEL_TRIES = 20
"""The maximum of tries to cancel a turn that other processes take over meanwhile."""

EarlierItems = tuple[Sequence[bytes]] | tuple[Sequence[bytes], Sequence[bytes]]
"""The session's items before a turn, and those of its earlier responses."""


@dataclass(frozen=True, slots=True)
class Started:
    """A started response of a turn. ``first_seq`` is the number of its first event."""

    turn: int
    session: int
    first_seq: int


def earlier_items(turn: int) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Return the items before a turn, and those of its earlier responses, for a turn that is continued."""
    return history.before_turn(turn), history.of_turn(turn)[1]


@dataclass(frozen=True, slots=True)
class Answers:
    """A client's answers to the calls that a turn waits for; ``approved`` are its decisions, by call, on those that it
    only had to approve: an approved one has no answer, a refused one may say why."""

    responses: Sequence[ToolResponse]
    approved: Mapping[str, bool] = field(default_factory=dict)


def _pending(awaited: AwaitedCall, answers: Answers) -> PendingCall:
    call, detail = ToolCall.model_validate_json(awaited.call), ToolDetail.model_validate_json(awaited.detail)
    approved = answers.approved.get(call.call_id) if awaited.needs_approval else None
    return PendingCall(awaited.step, call, awaited.started_at, approved, detail)


class Service:
    """Starts, resumes and cancels turns in this process. ``on_left`` is called when a turn was stored for another
    process."""

    def __init__(self, runner: Runner, providers: Providers, remote_stops: RemoteStops | None = None) -> None:
        self.runner, self.providers = runner, providers
        self._remote_stops = remote_stops or RemoteStops()
        self.on_left: Callable[[], None] = lambda: None
        parts = (make(runner, providers) for make in extensions.service_parts.values())
        self._parts = {type(part): part for part in parts}
        runner.on_input_left = partial(runner.run_in_background, partial(read, self.start_left_input))

    def place(
        self, actor: Actor, agent: int | None, run: Run, *, needs_caller: bool, fails_later: bool = False
    ) -> AbstractContextManager[Place]:
        """Find a place for a response of an agent, as `places.find` does."""
        return places.find(self.runner, actor, agent, run, needs_caller=needs_caller, fails_later=fails_later)

    def part(self, kind: type[Part]) -> Part:
        """Return the part of this class, which its subject has added."""
        part: Part = self._parts[kind]
        return part

    # ----------------------------------------------------------------------------------------- start

    def start_turn(
        self,
        actor: Actor,
        agent: AgentRecord,
        session: int,
        body: CreateTurn,
        sent: SentRequest | None = None,
    ) -> Started:
        """Start a turn. Raises InvalidRequest for an unknown name, Conflict while another turn of the session runs,
        Unavailable while the server shuts down, CallRefused for a call of a sub-agent that is one too many."""
        sent = sent or SentRequest()
        earlier_run = sent.first_run()
        if earlier_run:
            return self.attach(actor, *earlier_run)
        is_called = sent.call is not None
        if not is_called:  # what runs already may go on to its end
            self.check_open()
        agent_store.check_enabled(agent)
        config = without_client(agent.config) if is_called else agent.config
        key = ids.new_key()
        run = build_run(self.providers, actor, turn=key, session=session, config=config, body=body)
        left_out = client_tool_names(agent.config) if is_called else ()
        loop = Loop(replace(run, provider_data=sent.provider_data, left_out=left_out))
        try:
            with places.find_for_turn(self.runner, actor, agent.key, loop.run, sent) as place:
                return self._start(actor, agent, loop, body, sent, place)
        except retries.AlreadyRun as repeated:
            return self.attach(actor, repeated.turn, repeated.number)

    def _start(
        self,
        actor: Actor,
        agent: AgentRecord,
        loop: Loop,
        body: CreateTurn,
        sent: SentRequest,
        place: Place,
    ) -> Started:
        run, queued = loop.run, place.queued
        opening = place.open(loop)
        new = NewTurn(
            key=run.turn,
            session=run.session,
            agent=agent.key,
            revision=agent.revision,
            model=run.model,
            provider=run.inference.name,
            messages=body.messages,
            request=body.model_dump_json(exclude={"messages", "stream"}, exclude_none=True),
            response=sent.new_response(actor, run.model),
            queued=queued,
            new_session=sent.new_session,
            earlier_items=sent.earlier_items,
            inputs=sent.inputs,
            call=sent.call,
        )
        stored, first_item = start_turn.open_turn(actor, new, opening, place.owner)
        earlier_session_items = partial(history.before, run.session, first=first_item)
        self.run_response(actor, loop, stored, opening, lambda: (earlier_session_items(),), place)
        return Started(run.turn, run.session, opening[0].seq)

    def run_response(
        self,
        actor: Actor,
        loop: Loop,
        turn_ref: TurnRef,
        opening: Sequence[Event],
        earlier: Callable[[], EarlierItems],
        place: Place,
    ) -> None:
        """Run a stored response with the items that ``earlier`` reads: they can be read only now. If that
        fails, the response is ended and the error raised. Without a slot it is left to another process."""
        if place.slot is None:
            self.on_left()
            return
        try:
            loop.with_history(*earlier())
        except Exception:
            error_info = ErrorInfo(type="server_error", message="The server could not read what was said before.")
            ending = closing.TurnEnding("failed", "server_error", error_info)
            close = partial(closing.close_turn, turn_ref.turn, ending, statuses=closing.RUNNING, epoch=turn_ref.epoch)
            writer.submit(close)
            raise
        self.runner.start(loop, turn_ref, opening, actor, place.slot)

    def check_open(self) -> None:
        """Raise Unavailable while the server shuts down."""
        if self.runner.draining:
            raise Unavailable("The server is shutting down.", retry_after_s=5)

    def attach(self, actor: Actor, turn: int, number: int) -> Started:
        """Return the response that an earlier request has started."""
        target = turns.target(actor, turn, action="run")
        return Started(turn, target.session, turns.response_start(turn, number))

    # ---------------------------------------------------------------------------------------- resume

    def resume_turn(
        self,
        actor: Actor,
        target: TurnTarget,
        config: AgentConfig,
        body: ResumeTurn,
        sent: SentRequest | None = None,
    ) -> Started:
        """Continue a turn with its client's answers. A waiting turn needs exactly the answers it waits for; a
        completed turn may be resumed too (ReAct clients run calls that the server never saw). Raises
        InvalidRequest, or Conflict if another request was faster."""
        return self.answer_calls(actor, target, config, Answers(body.tool_responses), sent or SentRequest())

    def answer_calls(
        self, actor: Actor, target: TurnTarget, config: AgentConfig, answers: Answers, sent: SentRequest
    ) -> Started:
        """Continue a turn as `resume_turn` does, with the client's decisions on calls that it had to approve, too."""
        earlier_run = sent.first_run()
        if earlier_run:
            return self.attach(actor, *earlier_run)
        self.check_open()
        target.check_here()
        try:
            return self._resume(actor, target, config, answers, sent)
        except Conflict:
            earlier_run = sent.first_run()  # it may have begun while this one was read
            if earlier_run is None:
                raise
            return self.attach(actor, *earlier_run)

    def _resume(
        self,
        actor: Actor,
        target: TurnTarget,
        config: AgentConfig,
        answers: Answers,
        sent: SentRequest,
    ) -> Started:
        waiting = target.status == TurnStatus.AWAITING_INPUT
        if not waiting and target.status != TurnStatus.COMPLETED:
            raise Conflict(f"The turn is {target.status.label}; it cannot be resumed.", code="turn_not_waiting")
        if not answers.responses and not answers.approved:
            raise InvalidRequest("tool_responses: at least one is needed.", param="tool_responses")
        run = replace(self._resumed_run(actor, target, config, answers, waiting), provider_data=sent.provider_data)
        loop = Loop(run)
        opening = loop.open()
        assert run.resume is not None  # it was made just now
        new = sent.new_response(actor, run.model)
        resumption = Resumption(target.key, target.session, target.epoch, opening, run.resume.next_step, waiting, new)
        with self.place(actor, target.agent, run, needs_caller=bool(sent.provider_data)) as place:
            turn_ref = start_turn.resume_turn(resumption, place.owner)
            self.run_response(actor, loop, turn_ref, opening, partial(earlier_items, target.key), place)
        return Started(target.key, target.session, opening[0].seq)

    def _resumed_run(
        self, actor: Actor, target: TurnTarget, config: AgentConfig, answers: Answers, waiting: bool
    ) -> Run:
        turn = read_turns.turn(actor, target.key, "run")
        awaited_calls = turns.pending_calls(target.key) if waiting else []
        pending = [_pending(awaited, answers) for awaited in awaited_calls]
        start_turn.check_unmoved(target.key, target.next_seq)
        if waiting:
            unanswered = [waiting_call.call.call_id for waiting_call in pending if not waiting_call.approved]
            turns.check_answers(unanswered, answers.responses)
        else:
            turns.check_unanswered(turn.steps, answers.responses)
        messages = MESSAGES.validate_json(turn.input_messages)
        settings = msgspec.json.decode(target.request or "{}")
        request = CreateTurn.model_validate({"messages": [], **settings}).model_copy(update={"messages": messages})
        run = build_run(self.providers, actor, turn=target.key, session=target.session, config=config, body=request)
        next_step, next_round = turns.next_numbers(target.key)
        run = hand_over.continued(self.providers, actor, run, next_step)
        resume = Resume(
            response_number=target.response_count + 1,
            responses=answers.responses,
            pending=pending,
            next_seq=target.next_seq,
            next_step=next_step,
            round=next_round,
            iterations=target.iterations,
            usage=turn.usage or Usage(),
        )
        return replace(run, resume=resume, trace=tracing.parse(turn.traceparent))

    # ----------------------------------------------------------------------------------- left input

    def start_left_input(self) -> None:
        """Begin turns with the messages that came too late for the last inference of theirs. Blocking."""
        if self.runner.draining:
            return
        for turn in inputs.left_behind():
            try:
                self._start_left(turn)
            except AgentsError as error:  # another process was first, a turn runs now, or there is no room
                log.info("turn=%s: its last input waits: %s", turn, error.message)

    def _start_left(self, turn: int) -> None:
        session, waiting = inputs.session_of(turn), inputs.messages_of(turn)
        actor = present_actor(*waiting[0].sender) if waiting else None
        if session is None or actor is None:
            return
        record = sessions.get(actor, session, action="run")
        agent = agent_store.at_revision(self.session_agent(actor, session), record.revision)
        body = CreateTurn.model_validate({"messages": []}).model_copy(
            update={"messages": [one.message for one in waiting]}
        )
        sent = SentRequest(inputs=[one.key for one in waiting], fails_over_budget=True)
        self.start_turn(actor, agent, session, body, sent)

    # ---------------------------------------------------------------------------------------- cancel

    def cancel_turn(self, actor: Actor, key: int) -> Started:
        """Stop a turn that runs or waits, here or in another process; a turn that is over does not change. Returns
        the stopped response: once it is over, the turn does nothing more. Raises NotFound, Conflict; Unavailable
        where the process that runs it does not answer."""
        for _ in range(MAX_CANCEL_TRIES):
            target = turns.target(actor, key, action="run")
            target.check_here()
            if target.is_over or self._stop(target, actor.name):
                return Started(key, target.session, turns.response_start(key, target.response_count))
        raise Conflict("The turn is passing from hand to hand; try again.", code="busy")

    def _stop(self, target: TurnTarget, by: str) -> bool:
        """Stop a turn, or have its run stop it at once; returns False where the turn has changed meanwhile."""
        reason = f"cancelled by {by}"
        if target.is_live and target.lease_owner == self.runner.owner:
            self.runner.cancel(target.key, target.epoch, reason)
            return True
        # where no order gets through the turn is ended in the store: the process that runs it can write no more then
        if target.is_live and self._remote_stops.is_working and processes.living([target.lease_owner]):
            return self._stop_elsewhere(target, reason)
        statuses = closing.RUNNING if target.is_live else closing.WAITING
        ending = closing.TurnEnding("cancelled", reason, by=by)
        return writer.write(partial(closing.close_turn, target.key, ending, statuses=statuses, epoch=target.epoch))

    def _stop_elsewhere(self, target: TurnTarget, reason: str) -> bool:
        """Have the process that runs a turn stop it; returns False where the turn has ended meanwhile."""
        if self._remote_stops.order(target.lease_owner, target.key, target.epoch, reason):
            return True
        state = turns.state(target.key)
        if state is None or state[0] != target.status:
            return False
        message = "The server that runs this turn does not answer; try again. A turn whose server is gone ends soon."
        raise Unavailable(message, code="server_does_not_answer", retry_after_s=5)

    def config_of(self, actor: Actor, target: TurnTarget) -> AgentConfig:
        """Return the configuration of a turn, in a fork with the changes made for it."""
        target.check_here()
        if target.agent is None or target.revision is None:
            raise InvalidRequest("This turn has no agent to go on with.", code="no_agent")
        config = agent_store.revision_config(actor, target.agent, target.revision, "run")
        return config.model_copy(
            update=dict(ForkSettings.model_validate_json(forks.settings_of(target.key)).changed_values)
        )

    def session_agent(self, actor: Actor, session: int) -> AgentRecord:
        """Return the agent of a session. Raises InvalidRequest where it has none."""
        record = sessions.get(actor, session, action="run")
        if record.agent is None:
            raise InvalidRequest("This session has no agent.", code="no_agent")
        return agent_store.get(actor, record.agent, "run")
