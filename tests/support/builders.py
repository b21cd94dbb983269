"""Rows with sensible defaults, made the way the product makes them: through the store."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.loop.loop import Loop
from agents.loop.run import Run
from agents.record.models.choices import Api
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.events import Delta, Entry
from agents.record.store import agents, recorder, sessions, start_turn
from agents.record.store.agents import AgentRecord
from agents.record.store.new_responses import NewResponse
from agents.record.store.recorder import TurnRef
from agents.record.store.sessions import NewSession
from agents.record.store.start_turn import NewTurn
from agents.responses.schemas.requests import CreateResponse
from agents.responses.wire.settings import settings_json
from tests.loop.play import make_run, play


def make_agent(actor: Actor, **config: Any) -> AgentRecord:
    """A stored agent on the scripted model."""
    given = {"model": "scripted/fast", "instructions": "Be brief.", **config}
    return agents.get(actor, agents.create(actor, AgentConfig.model_validate(given)))


def make_session(actor: Actor, agent: AgentRecord | None = None, name: str = "a session") -> int:
    """A stored session of an agent (made if there is none)."""
    agent = agent or make_agent(actor)
    return sessions.create(actor, agent=agent.key, name=name)


@dataclass(frozen=True)
class Recorded:
    """A turn that was played and stored."""

    turn: int
    session: int
    agent: AgentRecord
    entries: Sequence[Entry]
    leg: TurnRef

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.TURN, self.turn)


def make_turn(
    actor: Actor,
    script: str = "say Hello.",
    *,
    agent: AgentRecord | None = None,
    session: int | None = None,
    cuts: Sequence[int] = (),
    upto: int | None = None,
    metadata: Mapping[str, Any] | None = None,
    **run: Any,
) -> Recorded:
    """A turn the loop ran, recorded in batches cut at these places; ``upto`` leaves the rest out."""
    agent = agent or make_agent(actor)
    session = session or make_session(actor, agent)
    turn = ids.new_key()
    made = _run(script, turn, session, run)
    entries = play(made)
    leg = open_turn(actor, agent, made, entries[0], metadata)
    record(leg, entries[1:upto], cuts)
    return Recorded(turn, session, agent, entries, leg)


@dataclass(frozen=True)
class Responded:
    """A response that was played and stored: its key, and what happened in it."""

    key: int
    turn: int
    session: int
    settings: bytes
    entries: Sequence[Entry]

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.RESPONSE, self.key)


def make_response(
    actor: Actor, script: str = "say Hello.", *, said: str = "hi", background: bool = False, **run: Any
) -> Responded:
    """A response the loop ran, in a session of its own; ``said`` is in all that it repeats."""
    key, turn, session = ids.new_key(), ids.new_key(), ids.new_key()
    made = _run(script, turn, session, run)
    about = {"of": said, "background": '"background":true'}
    body = CreateResponse(model=said, input=said, instructions=said, metadata=about, background=background)
    settings = settings_json(body, conversation=None)
    leg = NewResponse(key, b"{}", Api.RESPONSES, model=said, settings=settings.decode())
    new = NewTurn(
        key=turn,
        session=session,
        agent=None,
        revision=None,
        model=said,
        provider=made.inference.name,
        messages=made.input_messages,
        request="{}",
        response=leg,
        queued=False,
        new_session=NewSession(session, name=said, api=Api.RESPONSES),
        metadata=body.metadata,
    )
    entries = play(made)
    first = entries[0]
    assert not isinstance(first, Delta)  # a turn begins with an event
    record(start_turn.open_turn(actor, new, [first], "tester")[0], entries[1:])
    return Responded(key, turn, session, settings, entries)


def _run(script: str, turn: int, session: int, more: dict[str, Any]) -> Run:
    return replace(make_run(script, **more), turn=turn, session=session, new_key=ids.new_key)


def open_turn(
    actor: Actor, agent: AgentRecord, run: Run, opening: Any, metadata: Mapping[str, Any] | None = None
) -> TurnRef:
    """Store the beginning of a turn."""
    new = NewTurn(
        key=run.turn,
        session=run.session,
        agent=agent.key,
        revision=agent.revision,
        model=run.model,
        provider=run.inference.name,
        messages=run.input_messages,
        request="{}",
        response=NewResponse(ids.new_key(), b"{}"),
        queued=False,
        metadata=metadata or {},
    )
    return start_turn.open_turn(actor, new, [opening], "tester")[0]


def record(leg: TurnRef, entries: Sequence[Entry], cuts: Sequence[int] = ()) -> None:
    """Record entries in batches cut at these places."""
    bounds = [0, *sorted({cut % (len(entries) + 1) for cut in cuts}), len(entries)]
    for start, end in itertools.pairwise(bounds):
        batch = entries[start:end]
        events = [entry for entry in batch if not isinstance(entry, Delta)]
        deltas = [entry for entry in batch if isinstance(entry, Delta)]
        writer.write(partial(recorder.record, leg, events, deltas))


__all__ = ["Loop", "Recorded", "make_agent", "make_session", "make_turn", "open_turn", "record"]
