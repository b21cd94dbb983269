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
from agents.loop.prepare import build
from agents.loop.replay import NextResponse
from agents.loop.run import Run
from agents.loop.schemas.turns import CreateTurn
from agents.loop.service import Service, Started
from agents.record.schemas.agents import ForkSettings
from agents.record.schemas.chat import paired_history
from agents.record.schemas.content import TextItem, TurnMessage, UserMessage
from agents.record.schemas.turns import MESSAGES, StepSnapshot, TurnSnapshot
from agents.record.store import agents as agent_store
from agents.record.store import forks, history, read_turns, retries, start_turn, turns
from agents.record.store.forks import NewFork
from agents.record.store.retries import Retry
from agents.record.store.start_turn import NewResponse, NewTurn
from agents.record.store.turns import TurnTarget


@dataclass(frozen=True, slots=True)
class Asked:
    """A fork that is asked for: by whom, of which turn, how; the body as received, and what came along for
    providers."""

    actor: Actor
    turn: int
    body: ForkTurn
    raw: bytes = b""
    retry: Retry | None = None
    provider_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """What is forked, and where. ``messages`` are those that the fork begins with."""

    place: TurnTarget
    value: TurnSnapshot
    step: StepSnapshot
    messages: Sequence[TurnMessage]


@dataclass(frozen=True, slots=True)
class Made:
    """A fork's turn with the runs of its source's legs, changed: the first is its own."""

    new: NewTurn
    runs: Sequence[Run]
    restarts: bool = False


def begin(service: Service, asked: Asked) -> Started:
    """Begin a fork. Raises NotFound for what the actor may not see, InvalidRequest for what cannot be forked or
    changed so, Conflict while the source runs, Unavailable while the server drains."""
    again = retries.first_run(asked.retry) if asked.retry else None
    if again:
        return service.attach(asked.actor, *again)
    service.check_open()
    try:
        source = _source(asked)
        made = _of_agent(service, asked, source) if source.place.agent else _of_responses(service, asked, source)
        return _start(service, asked, source, made)
    except (Conflict, InvalidRequest, NotFound):
        again = retries.first_run(asked.retry) if asked.retry else None  # it may have begun while this one was read
        if again is None:
            raise
        return service.attach(asked.actor, *again)


def _start(service: Service, asked: Asked, source: Source, made: Made) -> Started:
    said = recording.heard(source.place.key)
    later = [NextResponse(run, messages, made.restarts) for run, messages in zip(made.runs[1:], said, strict=False)]
    recorded_turn = recording.make(
        source.value,
        source.step,
        replays=asked.body.tools == "recorded",
        edited=asked.body.changes.tool_result,
        legs=later,
    )
    loop = Loop(replace(made.runs[0], recorded_turn=recorded_turn))
    with service.runner.slots.entered(asked.actor, source.place.agent) as slot:
        opening = loop.open(queued=slot.queued)
        leg, _ = start_turn.open_turn(asked.actor, replace(made.new, queued=slot.queued), opening, service.runner.owner)
        service.go(asked.actor, loop, leg, opening, lambda: (_before(made, source),), slot)
    return Started(made.new.key, source.place.session, opening[0].seq)


def _before(made: Made, source: Source) -> list[bytes]:
    before = history.before_turn(made.new.key)
    return paired_history(before, _answered(source.messages)) if made.restarts else before


def _answered(messages: Sequence[TurnMessage]) -> list[str]:
    """The calls of the history that the turn itself began by answering."""
    return [message.call_id for message in messages if message.role == "tool"]


# --------------------------------------------------------------------------------------------- checks


def _source(asked: Asked) -> Source:
    place = check(asked.actor, asked.turn)
    value = read_turns.turn(asked.actor, asked.turn, "run")
    step = step_of(value, asked.body.step)
    _check_changes(asked.body, step)
    messages = MESSAGES.validate_json(value.input_messages)
    return Source(place, value, step, _reworded(messages, asked.body.changes.input))


def check(actor: Actor, turn: int) -> TurnTarget:
    """Where a turn stands that can be forked. Raises NotFound, Conflict while it runs, InvalidRequest for one
    that was run elsewhere or is not wholly kept."""
    place = turns.target(actor, turn, action="run")
    place.check_here()
    if place.is_live:
        raise Conflict("The turn is still running: fork it once it is over.", code="turn_running")
    if place.agent is None or place.revision is None:
        responses.legs_of(actor, place)
    return place


def step_of(turn: TurnSnapshot, name: int | str) -> StepSnapshot:
    """A step of a turn by its id, or its place from 1. Raises InvalidRequest."""
    text = str(name)
    key = ids.parse(ids.Kind.STEP, text)
    place = int(text) if text.isdecimal() and len(text) < 10 else None
    for step in turn.steps:
        if step.key == key or step.number + 1 == place:
            return step
    count = len(turn.steps)
    words = f"step: this turn has no step '{text[:80]}'; it has {count} of them, counted from 1."
    raise InvalidRequest(words, param="step", code="unknown_step")


def _check_changes(body: ForkTurn, step: StepSnapshot) -> None:
    changes = body.changes
    if changes.tool_result is not None and not takes_result(step):
        words = "changes.tool_result: only a step that ran a tool has a result to change."
        raise InvalidRequest(words, param="changes.tool_result")
    if changes.input is not None and step.number:
        words = "changes.input: what was said first can be changed from the first step on only."
        raise InvalidRequest(words, param="changes.input")


def takes_result(step: StepSnapshot) -> bool:
    """Whether a step has a result that a fork may change."""
    return step.type == "tool_execution" and b'"approval":"' not in (step.detail or b"")


def _reworded(messages: list[TurnMessage], words: str | None) -> list[TurnMessage]:
    """The messages of a turn, the last of the user's in other words; what came with it stays."""
    if words is None:
        return messages
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if isinstance(message, UserMessage):
            rest = [one for one in message.content if not isinstance(one, TextItem)] if _has_parts(message) else []
            content = [TextItem(text=words), *rest] if rest else words
            return [*messages[:place], message.model_copy(update={"content": content}), *messages[place + 1 :]]
    raise InvalidRequest("changes.input: no message of the user begins this turn.", param="changes.input")


def _has_parts(message: UserMessage) -> bool:
    return isinstance(message.content, list)


# --------------------------------------------------------------------------------------- the two APIs


def _of_agent(service: Service, asked: Asked, source: Source) -> Made:
    actor, place, changes = asked.actor, source.place, asked.body.changes
    assert place.agent is not None  # the caller looked
    agent_store.check_enabled(agent_store.get(actor, place.agent, "run"))
    config = service.config_of(actor, place).model_copy(update=changes.changed_values)
    body = CreateTurn.model_validate({"messages": [], **msgspec.json.decode(place.request or "{}")})
    key = ids.new_key()
    run = build(
        service.providers,
        actor,
        turn=key,
        session=place.session,
        config=config,
        body=body.model_copy(update={"messages": source.messages}),
        provider_data=asked.provider_data,
    )
    if run.documents is not None:  # a model is told the names they were stored by first
        run = replace(run, documents=run.documents.named_by(forks.root_of(place.key)))
    new = _new(asked, source, key, run, NewResponse(ids.new_key(), asked.raw, model=run.model, retry=asked.retry))
    before = ForkSettings.model_validate_json(forks.settings_of(place.key))
    settings = ForkSettings(**{**before.changed_values, **changes.changed_values})
    fork = replace(_fork(asked, source), settings=settings.model_dump_json(exclude_none=True))
    new = replace(new, agent=place.agent, revision=place.revision, request=place.request, fork=fork)
    return Made(new, [run] * place.response_count)


def _of_responses(service: Service, asked: Asked, source: Source) -> Made:
    found = responses.legs_of(asked.actor, source.place)
    key, changes = ids.new_key(), asked.body.changes
    bodies = [responses.changed(leg, changes) for leg in found]
    runs = [
        responses.run_of(service, asked.actor, body, asked.provider_data, key, source.place.session, source.messages)
        for body in bodies
    ]
    place = responses.leg_of(found, source.step.number)
    leg, body = responses.new_leg(found, place, bodies[place], changes)
    new = _new(asked, source, key, runs[0], replace(leg, retry=asked.retry))
    end_user = body.safety_identifier or body.user or ""
    new = replace(new, fork=_fork(asked, source), metadata=body.metadata, end_user=end_user)
    return Made(new, runs, restarts=True)


def _new(asked: Asked, source: Source, key: int, run: Run, leg: NewResponse) -> NewTurn:
    """What both APIs' forks have in common."""
    items = forks.inputs(source.place.key) if asked.body.changes.input is None else None
    return NewTurn(
        key=key,
        session=source.place.session,
        agent=None,
        revision=None,
        model=run.model,
        provider=run.inference.name,
        messages=source.messages,
        request="{}",
        response=replace(leg, items=items),
        queued=False,
    )


def _fork(asked: Asked, source: Source) -> NewFork:
    return NewFork(
        source=source.place.key,
        step=source.step.key,
        step_number=source.step.number,
        replays=asked.body.tools == "recorded",
        changes=asked.body.changes.model_dump_json(exclude_none=True),
    )
