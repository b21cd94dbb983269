"""Actions of pages: send a message to an agent, answer for a client, cancel a turn."""

from __future__ import annotations

from collections.abc import Mapping

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop.current_service import service
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.pages import recovery, response_requests, tool_call_forms
from agents.pages.turn_responses import client_tools
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import ToolCall, ToolDef, ToolResponse, UserMessage
from agents.record.store import agents, decisions, session_configs, sessions, start_turn, turns
from agents.record.store.sessions import NewSession, SessionRecord
from agents.record.store.turns import AwaitedCall, TurnTarget


def say(actor: Actor, session: int, text: str) -> str:
    """Continue a session; returns the public id of the turn. A session without an agent continues with the settings
    of its last response. Raises what starting a turn raises."""
    _check_text(text)
    record = sessions.get(actor, session, action="run")
    if record.agent is None:
        return _continue_response(actor, record, text)
    agent = agents.at_revision(service().session_agent(actor, session), record.revision)
    body = CreateTurn(messages=[UserMessage(content=text)], stream=True)
    started = service().start_turn(actor, agent, session, body)
    return ids.public(ids.Kind.TURN, started.turn)


def _check_text(text: str) -> None:
    if not text.strip():
        raise InvalidRequest("Say something first.", param="text")


def _continue_response(actor: Actor, session: SessionRecord, text: str) -> str:
    if session.last_turn is None:
        raise InvalidRequest("No model was asked here yet, so it is not known which one to ask.", param="text")
    return continue_turn(actor, session.last_turn, text)


def continue_turn(actor: Actor, turn: int, text: str) -> str:
    """Continue from the last response of a turn, or in the session of a turn with an agent; returns the public id of
    the new turn. Raises what starting a turn raises."""
    _check_text(text)
    target = turns.target(actor, turn, action="run")
    if not response_requests.is_of_responses(actor, target):
        return say(actor, target.session, text)
    return response_requests.start_response(
        actor, response_requests.follow_up(response_requests.last_response(actor, turn), text)
    )


def try_agent(actor: Actor, agent: int, text: str, session: int | None = None) -> tuple[str, str]:
    """Send a message to an agent, in a new session unless one is given; returns the public ids of turn and
    session."""
    _check_text(text)
    record = agents.get(actor, agent)
    if session is None:
        session = sessions.create(actor, agent=record.key, name=sessions.name_of(text))
    return say(actor, session, text), ids.public(ids.Kind.SESSION, session)


def try_draft(
    actor: Actor, agent: int | None, config: AgentConfig, text: str, session: int | None = None
) -> tuple[str, str]:
    """Send a message to an agent as its form describes it, which is not saved by this: in the given session, which
    then goes on with that configuration, or in a new one. An agent that there is not yet gets one of that session
    alone. Returns the public ids of turn and session."""
    _check_text(text)
    record = _drafted_session(actor, agent, session) if session is not None else None
    if record is None:
        new = NewSession(ids.new_key(), agent or ids.new_key(), name=sessions.name_of(text))
        session_configs.create(actor, new, **{"changed" if agent else "inline": config})
        return say(actor, new.key, text), ids.public(ids.Kind.SESSION, new.key)
    present = agents.at_revision(service().session_agent(actor, record.key), record.revision)
    if present.config != config:
        session_configs.change(actor, record.key, record.agent, config)
    return say(actor, record.key, text), record.public_id


def _drafted_session(actor: Actor, agent: int | None, session: int) -> SessionRecord | None:
    """Return a session in which drafts of an agent are tried, of a new one where there is none yet; None for one of
    another agent."""
    record = sessions.get(actor, session, action="run")
    if record.agent is None:
        return None
    is_of_draft = record.agent == agent if agent else agents.get(actor, record.agent).unlisted
    return record if is_of_draft else None


def answer(actor: Actor, turn: int, posted: Mapping[str, str]) -> None:
    """Answer a turn's pending calls for the client, from the fields of its form (`agents.pages.tool_call_forms`).
    Raises InvalidRequest."""
    target = turns.target(actor, turn, action="run")
    if response_requests.is_of_responses(actor, target):
        return _answer_response(actor, target, posted)
    calls = [ToolCall.model_validate_json(pending.call) for pending in turns.pending_calls(turn)]
    start_turn.check_unmoved(turn, target.next_seq)
    tools = agents.client_tools_of(turn)
    responses = [
        ToolResponse(
            call_id=call.call_id, tool_name=call.tool_name, content=tool_call_forms.answer_content(call, tools, posted)
        )
        for call in calls
    ]
    body = ResumeTurn(tool_responses=responses, stream=True)
    service().resume_turn(actor, target, service().config_of(actor, target), body)


def _answer_response(actor: Actor, target: TurnTarget, posted: Mapping[str, str]) -> None:
    last, pending = response_requests.last_response(actor, target.key), turns.pending_calls(target.key)
    if not pending:
        raise InvalidRequest("This turn waits for no answer.")
    start_turn.check_unmoved(target.key, target.next_seq)
    tools = client_tools(target.key)
    items = [_answer_item(call, tools, posted) for call in pending]
    response_requests.start_response(actor, response_requests.follow_up(last, items))


def _answer_item(pending: AwaitedCall, tools: list[ToolDef], posted: Mapping[str, str]) -> response_requests.JSON:
    call = ToolCall.model_validate_json(pending.call)
    if pending.needs_approval:
        approve, reason = tool_call_forms.read_decision(call, posted)
        return response_requests.approval(pending, approve=approve, reason=reason)
    return response_requests.call_output(call, tool_call_forms.answer_content(call, tools, posted))


def decide(actor: Actor, turn: int, posted: Mapping[str, str]) -> None:
    """Decide what became of calls whose process was lost, from the fields of their form (`agents.pages.recovery`).
    Raises NotFound, InvalidRequest, Conflict."""
    turns.target(actor, turn, action="run")  # who may not see it is told nothing of its form
    decisions.decide(actor, turn, recovery.read_decisions(posted))


def cancel(actor: Actor, turn: int) -> None:
    """Stop a turn."""
    service().cancel_turn(actor, turn)
