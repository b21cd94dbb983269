"""What the edges call: start a turn, resume one, cancel one. Sync; each returns once the first
event is stored and the run is on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest, Unavailable
from agents.base.store.writer import writer
from agents.loop.extensions import extensions
from agents.loop.loop import Loop
from agents.loop.prepare import build
from agents.loop.provider_set import Part, Providers
from agents.loop.run import PendingCall, Resume, Run
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.slots import Slot
from agents.loop.tasks import Runner
from agents.record.models.choices import Source, TurnStatus
from agents.record.schemas.agents import AgentConfig, ForkSettings
from agents.record.schemas.content import ToolCall, Usage
from agents.record.schemas.events import ErrorInfo, Event
from agents.record.schemas.turns import MESSAGES
from agents.record.store import agents as agent_store
from agents.record.store import closing, forks, history, read_turns, retries, sessions, turns
from agents.record.store import start_turn as legs
from agents.record.store.agents import AgentRecord
from agents.record.store.recorder import TurnRef
from agents.record.store.retries import Retry
from agents.record.store.start_turn import NewResponse, NewTurn, Resumption
from agents.record.store.turns import TurnTarget

CANCEL_TRIES = 20
"""How often a turn may pass into other hands while it is being cancelled."""

Earlier = tuple[Sequence[bytes]] | tuple[Sequence[bytes], Sequence[bytes]]
"""The session's items before a turn, and what its earlier legs added."""


@dataclass(frozen=True, slots=True)
class Started:
    """A leg on its way: ``first_seq`` is its first event."""

    turn: int
    session: int
    first_seq: int


def said_before(turn: int) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """What the run of a turn that goes on is told of before it."""
    return history.before_turn(turn), history.of_turn(turn)[1]


class Service:
    """The running server's face towards the edges."""

    def __init__(self, runner: Runner, providers: Providers) -> None:
        self.runner, self.providers = runner, providers
        parts = (make(runner, providers) for make in extensions.service_parts.values())
        self._parts = {type(part): part for part in parts}

    def part(self, kind: type[Part]) -> Part:
        """What the subject that knows this class runs beside the turns."""
        part: Part = self._parts[kind]
        return part

    # ----------------------------------------------------------------------------------------- start

    def start_turn(
        self,
        actor: Actor,
        agent: AgentRecord,
        session: int,
        body: CreateTurn,
        *,
        raw: bytes = b"",
        retry: Retry | None = None,
        source: Source = Source.NATIVE,
        provider_data: Mapping[str, Any] | None = None,
    ) -> Started:
        """Begin a turn; ``provider_data`` is for this run's providers, and stored nowhere. Raises
        InvalidRequest for what it names in vain, Conflict while another turn of the session runs,
        Unavailable while the server drains."""
        again = retries.first_run(retry) if retry else None
        if again:
            return self.attach(actor, *again)
        self.check_open()
        agent_store.check_enabled(agent)
        key = ids.new_key()
        run = build(
            self.providers,
            actor,
            turn=key,
            session=session,
            config=agent.config,
            body=body,
            provider_data=provider_data,
        )
        try:
            with self.runner.slots.entered(actor, agent.key) as slot:
                return self._start(
                    actor,
                    agent,
                    Loop(run),
                    body,
                    NewResponse(ids.new_key(), raw, model=run.model, retry=retry),
                    slot,
                    source,
                )
        except retries.AlreadyRun as repeated:
            return self.attach(actor, repeated.turn, repeated.number)

    def _start(
        self,
        actor: Actor,
        agent: AgentRecord,
        loop: Loop,
        body: CreateTurn,
        leg: NewResponse,
        slot: Slot,
        source: Source,
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
            response=leg,
            queued=queued,
            source=source,
        )
        stored, first_item = legs.open_turn(actor, new, opening, self.runner.owner)
        before = partial(history.before, run.session, first=first_item)
        self.go(actor, loop, stored, opening, lambda: (before(),), slot)
        return Started(run.turn, run.session, opening[0].seq)

    def go(
        self,
        actor: Actor,
        loop: Loop,
        leg: TurnRef,
        opening: Sequence[Event],
        earlier: Callable[[], Earlier],
        slot: Slot,
    ) -> None:
        """Run a leg that is stored, with what was said ``earlier``: it can be read only now. A leg for which
        that fails is ended, and the failure raised."""
        try:
            loop.with_history(*earlier())
        except Exception:
            words = ErrorInfo(type="server_error", message="The server could not read what was said before.")
            close = partial(closing.close_turn, leg.turn, "failed", "server_error", error=words)
            writer.submit(partial(close, statuses=closing.RUNNING, epoch=leg.epoch))
            raise
        self.runner.start(loop, leg, opening, actor, slot)

    def check_open(self) -> None:
        """Raises Unavailable while the server takes nothing new."""
        if self.runner.draining:
            raise Unavailable("The server is shutting down.", retry_after_s=5)

    def attach(self, actor: Actor, turn: int, number: int) -> Started:
        """A leg that was begun by an earlier request."""
        place = turns.target(actor, turn, action="run")
        return Started(turn, place.session, turns.response_start(turn, number))

    # ---------------------------------------------------------------------------------------- resume

    def resume_turn(
        self,
        actor: Actor,
        place: TurnTarget,
        config: AgentConfig,
        body: ResumeTurn,
        *,
        raw: bytes,
        retry: Retry | None,
        provider_data: Mapping[str, Any] | None = None,
    ) -> Started:
        """Continue a turn with its client's answers. A turn that waits needs exactly the answers it
        waits for; a completed one may be resumed too (ReAct clients run calls the server never
        saw). Raises InvalidRequest, or Conflict when someone else was first."""
        again = retries.first_run(retry) if retry else None
        if again:
            return self.attach(actor, *again)
        self.check_open()
        place.check_here()
        try:
            return self._resume(actor, place, config, body, NewResponse(ids.new_key(), raw, retry=retry), provider_data)
        except Conflict:
            again = retries.first_run(retry) if retry else None  # it may have begun while this one was read
            if again is None:
                raise
            return self.attach(actor, *again)

    def _resume(
        self,
        actor: Actor,
        place: TurnTarget,
        config: AgentConfig,
        body: ResumeTurn,
        leg: NewResponse,
        provider_data: Mapping[str, Any] | None,
    ) -> Started:
        waiting = place.status == TurnStatus.AWAITING_INPUT
        if not waiting and place.status != TurnStatus.COMPLETED:
            raise Conflict(f"The turn is {place.status.label}; it cannot be resumed.", code="turn_not_waiting")
        if not body.tool_responses:
            raise InvalidRequest("tool_responses: at least one is needed.", param="tool_responses")
        run = replace(self._resumed(actor, place, config, body, waiting), provider_data=provider_data or {})
        loop = Loop(run)
        opening = loop.open()
        assert run.resume is not None  # it was made just now
        new = replace(leg, model=run.model)
        resumption = Resumption(place.key, place.session, place.epoch, opening, run.resume.next_step, waiting, new)
        with self.runner.slots.entered(actor, place.agent) as slot:
            begun = legs.resume_turn(resumption, self.runner.owner)
            self.go(actor, loop, begun, opening, partial(said_before, place.key), slot)
        return Started(place.key, place.session, opening[0].seq)

    def _resumed(self, actor: Actor, place: TurnTarget, config: AgentConfig, body: ResumeTurn, waiting: bool) -> Run:
        value = read_turns.turn(actor, place.key, "run")
        pending = turns.pending_calls(place.key) if waiting else []
        calls = [PendingCall(one.step, ToolCall.model_validate_json(one.call), one.started_at) for one in pending]
        legs.check_unmoved(place.key, place.next_seq)
        if waiting:
            turns.check_answers([one.call.call_id for one in calls], body.tool_responses)
        else:
            turns.check_unanswered(value.steps, body.tool_responses)
        messages = MESSAGES.validate_json(value.input_messages)
        settings = msgspec.json.decode(place.request or "{}")
        request = CreateTurn.model_validate({"messages": [], **settings}).model_copy(update={"messages": messages})
        run = build(self.providers, actor, turn=place.key, session=place.session, config=config, body=request)
        next_step, next_round = turns.next_numbers(place.key)
        resume = Resume(
            leg=place.response_count + 1,
            responses=body.tool_responses,
            pending=calls,
            next_seq=place.next_seq,
            next_step=next_step,
            round=next_round,
            iterations=place.iterations,
            usage=value.usage or Usage(),
        )
        return replace(run, resume=resume)

    # ---------------------------------------------------------------------------------------- cancel

    def cancel_turn(self, actor: Actor, key: int) -> Started:
        """Stop a turn that runs or waits; a turn that is over stays as it is. Returns the leg that was stopped:
        once that is over, nothing more is done for it. Raises NotFound, Conflict."""
        for _ in range(CANCEL_TRIES):
            place = turns.target(actor, key, action="run")
            place.check_here()
            if place.is_over or self._stopped(place, f"cancelled by {actor.name}"):
                return Started(key, place.session, turns.response_start(key, place.response_count))
        raise Conflict("The turn is passing from hand to hand; try again.", code="busy")

    def _stopped(self, place: TurnTarget, reason: str) -> bool:
        """Whether the turn was stopped, or will be at once; False where it has moved on meanwhile."""
        if place.is_live and place.lease_owner == self.runner.owner:
            self.runner.cancel(place.key, place.epoch, reason)
            return True
        if place.is_live and not place.is_abandoned(ids.now_us()):
            raise Conflict("The turn runs in another process; ask there.", code="runs_elsewhere")
        statuses = closing.RUNNING if place.is_live else closing.WAITING
        close = partial(closing.close_turn, place.key, "cancelled", reason)
        return writer.write(partial(close, statuses=statuses, epoch=place.epoch))

    def config_of(self, actor: Actor, place: TurnTarget) -> AgentConfig:
        """The configuration a turn ran with, in a fork with what was changed for it."""
        place.check_here()
        if place.agent is None or place.revision is None:
            raise InvalidRequest("This turn has no agent to go on with.", code="no_agent")
        config = agent_store.revision_config(actor, place.agent, place.revision, "run")
        return config.model_copy(
            update=dict(ForkSettings.model_validate_json(forks.settings_of(place.key)).changed_values)
        )

    def session_agent(self, actor: Actor, session: int) -> AgentRecord:
        """The agent of a session. Raises InvalidRequest where it has none."""
        record = sessions.get(actor, session, action="run")
        if record.agent is None:
            raise InvalidRequest("This session has no agent.", code="no_agent")
        return agent_store.get(actor, record.agent, "run")
