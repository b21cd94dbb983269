"""The service that views call to start, resume and cancel turns. It is sync; its methods return once the
first event is stored and the run has been started."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest, Unavailable
from agents.base.store.writer import writer
from agents.loop.extensions import extensions
from agents.loop.loop import Loop
from agents.loop.prepare import build_run
from agents.loop.provider_set import Part, Providers
from agents.loop.run import PendingCall, Resume, Run
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.slots import Slot
from agents.loop.tasks import Runner
from agents.record.models.choices import TurnStatus
from agents.record.schemas.agents import AgentConfig, ForkSettings
from agents.record.schemas.content import ToolCall, Usage
from agents.record.schemas.events import ErrorInfo, Event
from agents.record.schemas.turns import MESSAGES
from agents.record.store import agents as agent_store
from agents.record.store import closing, forks, history, read_turns, retries, sessions, start_turn, turns
from agents.record.store.agents import AgentRecord
from agents.record.store.recorder import TurnRef
from agents.record.store.retries import Retry
from agents.record.store.start_turn import NewResponse, NewTurn, Resumption
from agents.record.store.turns import TurnTarget

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
class SentRequest:
    """A request of a caller beside its parsed body: ``raw`` is the body as received, ``provider_data`` is for this
    run's providers and is never stored."""

    raw: bytes = b""
    retry: Retry | None = None
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def first_run(self) -> tuple[int, int] | None:
        """Return the turn and the number of the response that an earlier request with the same retry key started."""
        return retries.first_run(self.retry) if self.retry else None


class Service:
    """Starts, resumes and cancels turns in this process."""

    def __init__(self, runner: Runner, providers: Providers) -> None:
        self.runner, self.providers = runner, providers
        parts = (make(runner, providers) for make in extensions.service_parts.values())
        self._parts = {type(part): part for part in parts}

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
        Unavailable while the server shuts down."""
        sent = sent or SentRequest()
        earlier_run = sent.first_run()
        if earlier_run:
            return self.attach(actor, *earlier_run)
        self.check_open()
        agent_store.check_enabled(agent)
        key = ids.new_key()
        run = build_run(self.providers, actor, turn=key, session=session, config=agent.config, body=body)
        loop = Loop(replace(run, provider_data=sent.provider_data))
        try:
            with self.runner.slots.entered(actor, agent.key) as slot:
                new_response = NewResponse(ids.new_key(), sent.raw, model=run.model, retry=sent.retry)
                return self._start(actor, agent, loop, body, new_response, slot)
        except retries.AlreadyRun as repeated:
            return self.attach(actor, repeated.turn, repeated.number)

    def _start(
        self,
        actor: Actor,
        agent: AgentRecord,
        loop: Loop,
        body: CreateTurn,
        new_response: NewResponse,
        slot: Slot,
    ) -> Started:
        run, queued = loop.run, slot.queued
        opening = loop.open(queued=queued)
        new = NewTurn(
            key=run.turn,
            session=run.session,
            agent=agent.key,
            revision=agent.revision,
            model=run.model,
            provider=run.inference.name,
            messages=body.messages,
            request=body.model_dump_json(exclude={"messages", "stream"}, exclude_none=True),
            response=new_response,
            queued=queued,
        )
        stored, first_item = start_turn.open_turn(actor, new, opening, self.runner.owner)
        earlier_session_items = partial(history.before, run.session, first=first_item)
        self.run_response(actor, loop, stored, opening, lambda: (earlier_session_items(),), slot)
        return Started(run.turn, run.session, opening[0].seq)

    def run_response(
        self,
        actor: Actor,
        loop: Loop,
        turn_ref: TurnRef,
        opening: Sequence[Event],
        earlier: Callable[[], EarlierItems],
        slot: Slot,
    ) -> None:
        """Run a stored response with the items that ``earlier`` reads: they can be read only now. If that
        fails, the response is ended and the error raised."""
        try:
            loop.with_history(*earlier())
        except Exception:
            error_info = ErrorInfo(type="server_error", message="The server could not read what was said before.")
            ending = closing.TurnEnding("failed", "server_error", error_info)
            close = partial(closing.close_turn, turn_ref.turn, ending, statuses=closing.RUNNING, epoch=turn_ref.epoch)
            writer.submit(close)
            raise
        self.runner.start(loop, turn_ref, opening, actor, slot)

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
        sent = sent or SentRequest()
        earlier_run = sent.first_run()
        if earlier_run:
            return self.attach(actor, *earlier_run)
        self.check_open()
        target.check_here()
        try:
            return self._resume(actor, target, config, body, sent)
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
        body: ResumeTurn,
        sent: SentRequest,
    ) -> Started:
        waiting = target.status == TurnStatus.AWAITING_INPUT
        if not waiting and target.status != TurnStatus.COMPLETED:
            raise Conflict(f"The turn is {target.status.label}; it cannot be resumed.", code="turn_not_waiting")
        if not body.tool_responses:
            raise InvalidRequest("tool_responses: at least one is needed.", param="tool_responses")
        run = replace(self._resumed_run(actor, target, config, body, waiting), provider_data=sent.provider_data)
        loop = Loop(run)
        opening = loop.open()
        assert run.resume is not None  # it was made just now
        new = NewResponse(ids.new_key(), sent.raw, model=run.model, retry=sent.retry)
        resumption = Resumption(target.key, target.session, target.epoch, opening, run.resume.next_step, waiting, new)
        with self.runner.slots.entered(actor, target.agent) as slot:
            turn_ref = start_turn.resume_turn(resumption, self.runner.owner)
            self.run_response(actor, loop, turn_ref, opening, partial(earlier_items, target.key), slot)
        return Started(target.key, target.session, opening[0].seq)

    def _resumed_run(
        self, actor: Actor, target: TurnTarget, config: AgentConfig, body: ResumeTurn, waiting: bool
    ) -> Run:
        turn = read_turns.turn(actor, target.key, "run")
        awaited_calls = turns.pending_calls(target.key) if waiting else []
        pending = [
            PendingCall(awaited.step, ToolCall.model_validate_json(awaited.call), awaited.started_at)
            for awaited in awaited_calls
        ]
        start_turn.check_unmoved(target.key, target.next_seq)
        if waiting:
            turns.check_answers([waiting_call.call.call_id for waiting_call in pending], body.tool_responses)
        else:
            turns.check_unanswered(turn.steps, body.tool_responses)
        messages = MESSAGES.validate_json(turn.input_messages)
        settings = msgspec.json.decode(target.request or "{}")
        request = CreateTurn.model_validate({"messages": [], **settings}).model_copy(update={"messages": messages})
        run = build_run(self.providers, actor, turn=target.key, session=target.session, config=config, body=request)
        next_step, next_round = turns.next_numbers(target.key)
        resume = Resume(
            response_number=target.response_count + 1,
            responses=body.tool_responses,
            pending=pending,
            next_seq=target.next_seq,
            next_step=next_step,
            round=next_round,
            iterations=target.iterations,
            usage=turn.usage or Usage(),
        )
        return replace(run, resume=resume)

    # ---------------------------------------------------------------------------------------- cancel

    def cancel_turn(self, actor: Actor, key: int) -> Started:
        """Stop a turn that runs or waits; a turn that is over does not change. Returns the stopped response: once
        it is over, the turn does nothing more. Raises NotFound, Conflict."""
        for _ in range(MAX_CANCEL_TRIES):
            target = turns.target(actor, key, action="run")
            target.check_here()
            if target.is_over or self._stop(target, f"cancelled by {actor.name}"):
                return Started(key, target.session, turns.response_start(key, target.response_count))
        raise Conflict("The turn is passing from hand to hand; try again.", code="busy")

    def _stop(self, target: TurnTarget, reason: str) -> bool:
        """Stop a turn, or have its run stop it at once; returns False where the turn has changed meanwhile."""
        if target.is_live and target.lease_owner == self.runner.owner:
            self.runner.cancel(target.key, target.epoch, reason)
            return True
        if target.is_live and not target.is_abandoned(ids.now_us()):
            raise Conflict("The turn runs in another process; ask there.", code="runs_elsewhere")
        statuses = closing.RUNNING if target.is_live else closing.WAITING
        ending = closing.TurnEnding("cancelled", reason)
        return writer.write(partial(closing.close_turn, target.key, ending, statuses=statuses, epoch=target.epoch))

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
