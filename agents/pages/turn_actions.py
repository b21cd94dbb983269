"""What pages do besides showing: say something to an agent, answer for a client, cancel."""

from __future__ import annotations

from collections.abc import Mapping

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop.current_service import service
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.pages import response_requests, tool_call_forms
from agents.pages.turn_responses import client_tools
from agents.record.schemas.content import ToolCall, ToolDef, ToolResponse, UserMessage
from agents.record.store import agents, sessions, start_turn, turns
from agents.record.store.sessions import SessionRecord
from agents.record.store.turns import AwaitedCall, TurnTarget

NAME = 60
"""Characters of the first message that name a session begun on a page."""


def say(actor: Actor, session: int, text: str) -> str:
    """Continue a session; returns the public id of the turn. One without an agent goes on as its last
    response was asked. Raises what starting a turn raises."""
    _check_said(text)
    record = sessions.get(actor, session, action="run")
    if record.agent is None:
        return _say_more(actor, record, text)
    agent = service().session_agent(actor, session)
    body = CreateTurn(messages=[UserMessage(content=text)], stream=True)
    started = service().start_turn(actor, agent, session, body)
    return ids.public(ids.Kind.TURN, started.turn)


def _check_said(text: str) -> None:
    if not text.strip():
        raise InvalidRequest("Say something first.", param="text")


def _say_more(actor: Actor, session: SessionRecord, text: str) -> str:
    if session.last_turn is None:
        raise InvalidRequest("No model was asked here yet, so it is not known which one to ask.", param="text")
    return say_after(actor, session.last_turn, text)


def say_after(actor: Actor, turn: int, text: str) -> str:
    """Go on from the last response of a turn, or in the session of one that has an agent; returns the
    public id of the new turn. Raises what beginning it raises."""
    _check_said(text)
    place = turns.target(actor, turn, action="run")
    if place.agent is not None:
        return say(actor, place.session, text)
    return response_requests.ask(actor, response_requests.continued(response_requests.last_of(actor, turn), text))


def try_agent(actor: Actor, agent: int, text: str, session: int | None = None) -> tuple[str, str]:
    """Say something to an agent, in a new session unless one is given; returns the public ids of
    turn and session."""
    _check_said(text)
    record = agents.get(actor, agent)
    if session is None:
        name = " ".join(text.split())[:NAME]
        session = sessions.create(actor, agent=record.key, name=name)
    return say(actor, session, text), ids.public(ids.Kind.SESSION, session)


def answer(actor: Actor, turn: int, posted: Mapping[str, str]) -> None:
    """Answer, for the client, the calls a turn waits for, as the fields of its form say
    (`agents.pages.tool_call_forms`). Raises InvalidRequest."""
    place = turns.target(actor, turn, action="run")
    if place.agent is None:
        return _answer_response(actor, place, posted)
    calls = [ToolCall.model_validate_json(pending.call) for pending in turns.pending_calls(turn)]
    start_turn.check_unmoved(turn, place.next_seq)
    tools = agents.client_tools_of(turn)
    responses = [
        ToolResponse(
            call_id=call.call_id, tool_name=call.tool_name, content=tool_call_forms.content(call, tools, posted)
        )
        for call in calls
    ]
    body = ResumeTurn(tool_responses=responses, stream=True)
    service().resume_turn(actor, place, service().config_of(actor, place), body, raw=b"", retry=None)


def _answer_response(actor: Actor, place: TurnTarget, posted: Mapping[str, str]) -> None:
    last, pending = response_requests.last_of(actor, place.key), turns.pending_calls(place.key)
    if not pending:
        raise InvalidRequest("This turn waits for no answer.")
    start_turn.check_unmoved(place.key, place.next_seq)
    tools = client_tools(place.key)
    given = [_answer_item(one, tools, posted) for one in pending]
    response_requests.ask(actor, response_requests.continued(last, given))


def _answer_item(pending: AwaitedCall, tools: list[ToolDef], posted: Mapping[str, str]) -> response_requests.JSON:
    call = ToolCall.model_validate_json(pending.call)
    if pending.needs_approval:
        approve, reason = tool_call_forms.decision(call, posted)
        return response_requests.approval(pending, approve=approve, reason=reason)
    return response_requests.output(call, tool_call_forms.content(call, tools, posted))


def cancel(actor: Actor, turn: int) -> None:
    """Stop a turn."""
    service().cancel_turn(actor, turn)
