"""A fork: a turn beside another, which takes over what that did up to one of its steps, and goes on from
there by the same loop with something changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.forks.runner import recording, responses
from agents.forks.schemas.forks import ForkTurn
from agents.loop.loop import Loop
from agents.loop.prepare import build_run
from agents.loop.replay import NextResponse
from agents.loop.run import Run
from agents.loop.schemas.turns import CreateTurn
from agents.loop.service import Service, Started
from agents.loop.takeover import RebuiltRun, StoredRun
from agents.record.schemas.agents import ForkSettings
from agents.record.schemas.chat import paired_history
from agents.record.schemas.content import TextItem, TurnMessage, UserMessage
from agents.record.schemas.turns import MESSAGES, StepSnapshot, TurnSnapshot
from agents.record.store import agents as agent_store
from agents.record.store import forks, history, read_turns, retries, start_turn, turns
from agents.record.store.forks import NewFork
from agents.record.store.new_responses import NewResponse
from agents.record.store.retries import Retry
from agents.record.store.start_turn import NewTurn
from agents.record.store.turns import TurnTarget
from agents.responses.runner import earlier_tools
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.response_run import response_run


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A fork that is asked for: by whom, of which turn, how; the body as received, and what came along for
    providers."""

    actor: Actor
    turn: int
    body: ForkTurn
    raw: bytes = b""
    retry: Retry | None = None
    provider_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForkSource:
    """What is forked, and where. ``messages`` are those that the fork begins with."""

    target: TurnTarget
    turn: TurnSnapshot
    step: StepSnapshot
    messages: Sequence[TurnMessage]


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork's turn with the runs of its source's legs, changed: the first is its own."""

    new: NewTurn
    runs: Sequence[Run]
    restarts: bool = False


def begin(service: Service, request: ForkRequest) -> Started:
    """Begin a fork. Raises NotFound for what the actor may not see, InvalidRequest for what cannot be forked or
    changed so, Conflict while the source runs, Unavailable while the server drains."""
    existing = retries.first_run(request.retry) if request.retry else None
    if existing:
        return service.attach(request.actor, *existing)
    service.check_open()
    try:
        source = _source(request)
        return _start(service, request, source, _plan(service, request, source))
    except (Conflict, InvalidRequest, NotFound):
        existing = (
            retries.first_run(request.retry) if request.retry else None
        )  # it may have begun while this one was read
        if existing is None:
            raise
        return service.attach(request.actor, *existing)


def _start(service: Service, request: ForkRequest, source: ForkSource, plan: ForkPlan) -> Started:
    loop = Loop(_first_run(request, source, plan))
    needs_caller = bool(request.provider_data)
    with service.place(request.actor, source.target.agent, loop.run, needs_caller=needs_caller) as place:
        opening = place.open(loop)
        turn_ref, _ = start_turn.open_turn(request.actor, replace(plan.new, queued=place.queued), opening, place.owner)
        service.run_response(
            request.actor, loop, turn_ref, opening, lambda: (_history(plan.new.key, plan, source),), place
        )
    return Started(plan.new.key, source.target.session, opening[0].seq)


def _first_run(request: ForkRequest, source: ForkSource, plan: ForkPlan) -> Run:
    """The fork's own run, with what it replays."""
    inputs = recording.resumed_messages(source.target.key)
    later_responses = [
        NextResponse(run, messages, plan.restarts)
        for run, messages in zip(plan.runs[1:], inputs, strict=False)
        if messages is not None
    ]
    recorded_turn = recording.recording(
        source.turn,
        source.step,
        replays=request.body.tools == "recorded",
        edited=request.body.changes.tool_result,
        next_responses=later_responses,
    )
    return replace(plan.runs[0], recorded_turn=recorded_turn)


def rebuilt_run(stored: StoredRun) -> RebuiltRun:
    """Build the run of a fork again, for a process that takes it over. Raises AgentsError."""
    fork = forks.of_turn(stored.actor, stored.turn)
    if fork is None or fork.source is None:
        raise InvalidRequest("The turn that this one was forked from was deleted.", code="turn_deleted")
    body = ForkTurn.model_validate(
        {
            "step": fork.step_number + 1,
            "tools": "recorded" if fork.replays else "live",
            "changes": msgspec.json.decode(fork.changes),
        }
    )
    request = ForkRequest(stored.actor, fork.source, body)
    source = _source(request)
    plan = _plan(stored.service, request, source)
    run = replace(_first_run(request, source, plan), turn=stored.turn)
    return RebuiltRun(run, _history(stored.turn, plan, source))


def _history(turn: int, plan: ForkPlan, source: ForkSource) -> list[bytes]:
    earlier = history.before_turn(turn)
    return paired_history(earlier, _answered_calls(source.messages)) if plan.restarts else earlier


def _answered_calls(messages: Sequence[TurnMessage]) -> list[str]:
    """The calls of the history that the turn itself began by answering."""
    return [message.call_id for message in messages if message.role == "tool"]


# --------------------------------------------------------------------------------------------- checks


def _source(request: ForkRequest) -> ForkSource:
    target = check(request.actor, request.turn)
    turn = read_turns.turn(request.actor, request.turn, "run")
    step = step_of(turn, request.body.step)
    _check_changes(request.body, step)
    messages = MESSAGES.validate_json(turn.input_messages)
    return ForkSource(target, turn, step, _with_input(messages, request.body.changes.input))


def check(actor: Actor, turn: int) -> TurnTarget:
    """Where a turn stands that can be forked. Raises NotFound, Conflict while it runs, InvalidRequest for one
    that was run elsewhere or is not wholly kept."""
    target = turns.target(actor, turn, action="run")
    target.check_here()
    if target.is_live:
        raise Conflict("The turn is still running: fork it once it is over.", code="turn_running")
    if target.agent is None or target.revision is None:
        responses.sent_responses(actor, target)
    return target


def step_of(turn: TurnSnapshot, name: int | str) -> StepSnapshot:
    """A step of a turn by its id, or its place from 1. Raises InvalidRequest."""
    text = str(name)
    key = ids.parse(ids.Kind.STEP, text)
    position = int(text) if text.isdecimal() and len(text) < 10 else None
    for step in turn.steps:
        if step.key == key or step.number + 1 == position:
            return step
    count = len(turn.steps)
    message = f"step: this turn has no step '{text[:80]}'; it has {count} of them, counted from 1."
    raise InvalidRequest(message, param="step", code="unknown_step")


def _check_changes(body: ForkTurn, step: StepSnapshot) -> None:
    changes = body.changes
    if changes.tool_result is not None and not takes_result(step):
        message = "changes.tool_result: only a step that ran a tool has a result to change."
        raise InvalidRequest(message, param="changes.tool_result")
    if changes.input is not None and step.number:
        message = "changes.input: what was said first can be changed from the first step on only."
        raise InvalidRequest(message, param="changes.input")


def takes_result(step: StepSnapshot) -> bool:
    """Whether a step has a result that a fork may change."""
    return step.type == "tool_execution" and b'"approval":"' not in (step.detail or b"")


def _with_input(messages: list[TurnMessage], text: str | None) -> list[TurnMessage]:
    """The messages of a turn, the last of the user's in other words; what came with it stays."""
    if text is None:
        return messages
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, UserMessage):
            other_parts = (
                [part for part in message.content if not isinstance(part, TextItem)] if _has_parts(message) else []
            )
            content = [TextItem(text=text), *other_parts] if other_parts else text
            return [*messages[:index], message.model_copy(update={"content": content}), *messages[index + 1 :]]
    raise InvalidRequest("changes.input: no message of the user begins this turn.", param="changes.input")


def _has_parts(message: UserMessage) -> bool:
    return isinstance(message.content, list)


# --------------------------------------------------------------------------------------- the two APIs


def _plan(service: Service, request: ForkRequest, source: ForkSource) -> ForkPlan:
    return _of_agent(service, request, source) if source.target.agent else _of_responses(service, request, source)


def _of_agent(service: Service, request: ForkRequest, source: ForkSource) -> ForkPlan:
    actor, target, changes = request.actor, source.target, request.body.changes
    assert target.agent is not None  # the caller looked
    agent_store.check_enabled(agent_store.get(actor, target.agent, "run"))
    config = service.config_of(actor, target).model_copy(update=changes.changed_values)
    body = CreateTurn.model_validate({"messages": [], **msgspec.json.decode(target.request or "{}")})
    key = ids.new_key()
    run = build_run(
        service.providers,
        actor,
        turn=key,
        session=target.session,
        config=config,
        body=body.model_copy(update={"messages": source.messages}),
    )
    run = replace(run, provider_data=request.provider_data)
    if run.documents is not None:  # a model is told the names they were stored by first
        run = replace(run, documents=run.documents.named_by(forks.root_of(target.key)))
    new = _new(request, source, key, run, NewResponse(ids.new_key(), request.raw, model=run.model, retry=request.retry))
    previous = ForkSettings.model_validate_json(forks.settings_of(target.key))
    settings = ForkSettings(**{**previous.changed_values, **changes.changed_values})
    fork = replace(_fork(request, source), settings=settings.model_dump_json(exclude_none=True))
    new = replace(new, agent=target.agent, revision=target.revision, request=target.request, fork=fork)
    return ForkPlan(new, [run] * target.response_count)


def _of_responses(service: Service, request: ForkRequest, source: ForkSource) -> ForkPlan:
    sent = responses.sent_responses(request.actor, source.target)
    key, changes = ids.new_key(), request.body.changes
    bodies = [responses.changed_request(response, changes) for response in sent]
    sent_requests = [
        ResponseRequest(
            request.actor,
            body,
            b"",
            None,
            request.provider_data,
            earlier_tools=earlier_tools.of_response(response.record),
        )
        for response, body in zip(sent, bodies, strict=True)
    ]
    runs = [
        response_run(service, sent_request, key, source.target.session, source.messages)
        for sent_request in sent_requests
    ]
    index = responses.response_index(sent, source.step.number)
    response, body = responses.combined_response(sent, index, bodies[index], changes)
    new = _new(request, source, key, runs[0], replace(response, retry=request.retry))
    end_user = body.safety_identifier or body.user or ""
    new = replace(new, fork=_fork(request, source), metadata=body.metadata, end_user=end_user)
    return ForkPlan(new, runs, restarts=True)


def _new(request: ForkRequest, source: ForkSource, key: int, run: Run, response: NewResponse) -> NewTurn:
    """What both APIs' forks have in common."""
    items = forks.inputs(source.target.key) if request.body.changes.input is None else None
    return NewTurn(
        key=key,
        session=source.target.session,
        agent=None,
        revision=None,
        model=run.model,
        provider=run.inference.name,
        messages=source.messages,
        request="{}",
        response=replace(response, items=items, needs_caller=bool(request.provider_data), actor=request.actor),
        queued=False,
    )


def _fork(request: ForkRequest, source: ForkSource) -> NewFork:
    return NewFork(
        source=source.target.key,
        step=source.step.key,
        step_number=source.step.number,
        replays=request.body.tools == "recorded",
        changes=request.body.changes.model_dump_json(exclude_none=True),
    )
