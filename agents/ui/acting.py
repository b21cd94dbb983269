"""What pages do besides showing: say something to an agent, answer for a client, cancel."""

from __future__ import annotations

from collections.abc import Mapping

from agents import ids
from agents.access import Actor
from agents.errors import InvalidRequest
from agents.runner.current import service
from agents.schemas.agents import CreateTurn, ResumeTurn
from agents.schemas.content import ToolCall, ToolResponse, UserMessage
from agents.store import agents, sessions, turns
from agents.ui import answers

NAME = 60
"""Characters of the first message that name a session begun on a page."""


def say(actor: Actor, session: int, text: str) -> str:
    """Continue a session; returns the public id of the turn. Raises what starting a turn raises."""
    if not text.strip():
        raise InvalidRequest("Say something first.", param="text")
    agent = service().session_agent(actor, session)
    sessions.get(actor, session, action="run")
    body = CreateTurn(messages=[UserMessage(content=text)], stream=True)
    started = service().start_turn(actor, agent, session, body)
    return ids.public(ids.Kind.TURN, started.turn)


def try_agent(actor: Actor, agent: int, text: str, session: int | None = None) -> tuple[str, str]:
    """Say something to an agent, in a new session unless one is given; returns the public ids of
    turn and session."""
    if not text.strip():
        raise InvalidRequest("Say something first.", param="text")
    record = agents.get(actor, agent)
    if session is None:
        name = " ".join(text.split())[:NAME]
        session = sessions.create(actor, agent=record.key, name=name)
    return say(actor, session, text), ids.public(ids.Kind.SESSION, session)


def answer(actor: Actor, turn: int, posted: Mapping[str, str]) -> None:
    """Answer, for the client, the calls a turn waits for, as the fields of its form say
    (`agents.ui.answers`). Raises InvalidRequest."""
    place = turns.place(actor, turn, action="run")
    calls = [ToolCall.model_validate_json(pending.call) for pending in turns.pending_calls(turn)]
    turns.check_unmoved(turn, place.next_seq)
    tools = agents.client_tools_of(turn)
    responses = [
        ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=answers.content(call, tools, posted))
        for call in calls
    ]
    body = ResumeTurn(tool_responses=responses, stream=True)
    service().resume_turn(actor, place, service().config_of(actor, place), body, raw=b"", retry=None)


def cancel(actor: Actor, turn: int) -> None:
    """Stop a turn."""
    service().cancel_turn(actor, turn)
