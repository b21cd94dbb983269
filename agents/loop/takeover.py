"""Takes over turns that no process runs: their process is gone, or another one has only stored them. The run goes on
behind the steps that are stored.

The run is built again from what is stored of its request, and repeats its way along the stored events. Turns that
cannot go on end as they would have without that, and say why.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from agents.base import rights, tracing
from agents.base.access import Actor
from agents.base.errors import AgentsError, RateLimited
from agents.base.store.processes import process_name
from agents.base.store.writer import writer
from agents.loop import hand_over
from agents.loop.extensions import extensions
from agents.loop.loop import Loop
from agents.loop.prepare import build_run, client_tool_names, without_client
from agents.loop.run import PendingCall, Resume, Run
from agents.loop.schemas.turns import CreateTurn
from agents.loop.senders import present_actor
from agents.loop.service import Service, earlier_items
from agents.record.models.choices import Api
from agents.record.schemas.events import ErrorInfo, Event, StepEnded, StepStarted, ToolDetail, TurnResumed
from agents.record.store import agents, closing, history, takeover, turns
from agents.record.store.closing import TurnEnding
from agents.record.store.takeover import OrphanedTurn, StoredResponse, TooOftenLost

log = logging.getLogger(__name__)

MAX_AT_ONCE = 64
"""Turns that are looked at in one round."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a run is built from again: the turn and the actor it acts for, and what is stored of its response."""

    service: Service
    actor: Actor
    turn: int
    response: StoredResponse


@dataclass(frozen=True, slots=True)
class RebuiltRun:
    """A run as it was before its first event, and the session's history before its turn."""

    run: Run
    history: Sequence[bytes]


class _NotTaken(Exception):
    """Another process has claimed the turn, or it is a suspect and has to wait for the one that runs here."""


def take_over(service: Service, *, resumes: bool = True) -> int:
    """Go on with turns that no process runs, as far as there is room, or end them where ``resumes`` is false and their
    agent says nothing else; returns how many this process has got. Blocking.

    A turn that has lost several processes may be what ends them, or may only have been beside it. A process runs one
    of these suspects at a time, so that what ends it takes no other turn along."""
    runner = service.runner
    if runner.draining or not runner.role.runs:
        return 0
    if runner.suspect is not None and not takeover.is_suspect(runner.suspect, runner.owner):
        runner.suspect = None
    service.start_left_input()
    return sum(_take(service, orphan, resumes=resumes) for orphan in takeover.orphans(MAX_AT_ONCE))


class OwnTurns:
    """Compares what is stored as run by this process with what it runs. The two differ for a moment whenever a run
    begins or ends; what differs twice is put right.

    A commit can be stored while its answer is lost with the connection: a turn is then stored as run here, and whoever
    stored it was told that it had failed. It is left to whoever has room, this process too. And a run whose turn was
    ended or taken over elsewhere, and that has had nothing to write since, stops."""

    def __init__(self) -> None:
        self._differed = frozenset[tuple[int, int]]()

    def compare(self, service: Service) -> None:
        """Blocking."""
        runner = service.runner
        if runner.draining:
            return
        stored, runs = takeover.owned(runner.owner), runner.names
        differs = stored ^ runs
        again, self._differed = differs & self._differed, differs
        for turn, epoch in again & runs:
            log.info("turn=%s: is not run here any more, by what is stored. Its run stops.", turn)
            runner.let_go_of(turn, epoch)
        for turn, epoch in again & stored:
            log.warning("turn=%s: is stored as run here, and was not: it is left to whoever has room", turn)
            takeover.leave(turn, epoch, runner.owner)


def _take(service: Service, orphan: OrphanedTurn, *, resumes: bool) -> bool:
    if not orphan.is_left and not _goes_on(orphan, resumes):
        return _end(orphan, TurnEnding("interrupted", "the server stopped"))
    actor = present_actor(orphan.user, orphan.api_key, orphan.scope)
    if actor is None:
        return _end(orphan, TurnEnding("cancelled", rights.REASON))
    try:
        runner = service.runner
        slots = runner.slots
        # one that another turn waits for needs none: that may hold the last
        entered = slots.beside(actor) if orphan.is_called else slots.entered_at_once(actor, orphan.agent)
        with entered as slot:
            claim = takeover.claim(orphan, runner.owner, process_name(), takes_suspects=runner.suspect is None)
            if claim is None:
                raise _NotTaken
            if claim.is_suspect:
                runner.suspect = orphan.key
            loop, opening = _loop(service, actor, orphan)
            if claim.taken_over:
                opening = [claim.taken_over]
            runner.start(loop, claim.ref, opening, actor, slot, queued=orphan.queued)
    except (_NotTaken, RateLimited):
        return False
    except TooOftenLost:
        reason = f"{takeover.MAX_LOST} processes were lost while they ran it"
        return _end(orphan, TurnEnding("interrupted", reason))
    except _CannotGoOn as reason:
        ending = TurnEnding("interrupted", str(reason), ErrorInfo(type="not_resumable", message=reason.message))
        return _end(replace(orphan, epoch=orphan.epoch + 1), ending)
    log.info("turn=%s: taken over", orphan.key)
    return True


def _goes_on(orphan: OrphanedTurn, resumes: bool) -> bool:
    """Tell whether a turn goes on after the loss of its process: as its agent says, else as the server does."""
    config = agents.config_of_turn(orphan.key) if orphan.agent is not None else None
    return resumes if config is None or config.resume_runs is None else config.resume_runs


def _end(orphan: OrphanedTurn, ending: TurnEnding) -> bool:
    close = partial(closing.close_turn, orphan.key, ending, statuses=closing.RUNNING, epoch=orphan.epoch)
    return writer.write(close)


class _CannotGoOn(Exception):
    """A run that cannot be built again."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason)
        self.message = message


def _loop(service: Service, actor: Actor, orphan: OrphanedTurn) -> tuple[Loop, list[Event]]:
    """Build the loop of a claimed turn; returns it and the events that its response was opened with. Raises
    _CannotGoOn."""
    stored = takeover.stored_response(orphan.key)
    if stored.needs_caller:
        message = "The server stopped, and what the caller sent with its request (keys, headers) is not stored."
        raise _CannotGoOn("the server stopped", message)
    begins_fork = stored.is_fork and stored.number == 1
    build = extensions.fork_builder if begins_fork else extensions.run_builders.get(stored.api, agent_run)
    try:
        rebuilt = build(StoredRun(service, actor, orphan.key, stored))
        run = hand_over.continued(service.providers, actor, rebuilt.run, stored.first_step)
    except AgentsError as error:
        raise _CannotGoOn("the server stopped", f"The server stopped, and cannot go on: {error.message}") from error
    run = replace(
        run,
        resume=_resume(stored),
        stored_events=stored.events,
        typed_texts=stored.typed,
        typed_parts=stored.typed_parts,
        trace=tracing.parse(stored.traceparent),
    )
    loop = Loop(run)
    opening = loop.open(queued=True)
    loop.with_history(rebuilt.history, earlier_items(orphan.key)[1] if stored.number > 1 else ())
    return loop, opening


def agent_run(stored: StoredRun) -> RebuiltRun:
    """Build the run of a turn of an agent. Raises AgentsError."""
    service, actor = stored.service, stored.actor
    target = turns.target(actor, stored.turn, action="run")
    config = service.config_of(actor, target)
    left_out: Sequence[str] = ()
    if stored.response.is_called:
        left_out, config = client_tool_names(config), without_client(config)
    body = CreateTurn.model_validate({"messages": [], **msgspec.json.decode(target.request or "{}")})
    body = body.model_copy(update={"messages": turns.input_messages(stored.turn)})
    run = build_run(service.providers, actor, turn=stored.turn, session=target.session, config=config, body=body)
    run = replace(run, left_out=left_out)
    return RebuiltRun(run, history.before_turn(stored.turn))


def _resume(stored: StoredResponse) -> Resume | None:
    """Return the continuation that the response began with; None for a turn's first response."""
    opening = stored.events[0]
    if not isinstance(opening, TurnResumed):
        return None
    begun = {event.step for event in stored.events if isinstance(event, StepStarted)}
    answered = [event for event in stored.events if isinstance(event, StepEnded) and event.step not in begun]
    return Resume(
        response_number=opening.leg,
        responses=opening.tool_responses,
        pending=[_pending(event) for event in answered],
        next_seq=opening.seq,
        next_step=stored.first_step,
        round=stored.round,
        iterations=0 if stored.api == Api.RESPONSES else stored.iterations,
        usage=stored.usage,
        messages=opening.input_messages,
        steering=opening.steering,
    )


def _pending(answered: StepEnded) -> PendingCall:
    detail = answered.detail
    assert isinstance(detail, ToolDetail)  # clients answer calls
    approved = {"approved": True, "refused": False}.get(detail.approval or "")
    return PendingCall(answered.step, detail.tool_calls[0], answered.started_at, approved, detail)
