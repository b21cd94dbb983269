"""Chat completions whose model is an agent: each is a turn of the agent, in a session of its own.

A session begins with what the caller says was said before, for this API knows no conversations. A caller that hangs up
stops its turn: it has no other way to say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, InvalidRequest, NotFound, type_of
from agents.base.reading import read
from agents.base.schemas.wire import JSON
from agents.llama_stack.stream import error_status
from agents.loop.current_service import service
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.sent_request import SentRequest
from agents.loop.service import Started
from agents.record import live
from agents.record.models.choices import TurnStatus
from agents.record.schemas.content import ToolCall, ToolResponse, ToolResponseMessage, UserMessage, text_of
from agents.record.schemas.events import LAST_ORDINAL, TurnEnded
from agents.record.store import sessions, targets, turns
from agents.record.store.agents import AgentRecord
from agents.record.store.history import NewItem
from agents.record.store.sessions import NewSession
from agents.record.store.turns import TurnTarget
from agents.relay.schemas.agent_chat import AgentChatRequest
from agents.relay.wire.agent_chat import AgentAnswer, ParsedChat, choice, parse, usage_of
from agents.relay.wire.chat_completions import CompletionAssembly


@dataclass(frozen=True, slots=True)
class AgentChat:
    """A started request, which its turn answers."""

    actor: Actor
    body: AgentChatRequest
    started: Started
    created: int

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as JSON as they arrive. Raises as `events` does."""
        async with aclosing(self.events()) as events:
            async for event in events:
                yield msgspec.json.encode(event)

    async def events(self) -> AsyncGenerator[dict[str, JSON], None]:
        """Yield the events as they arrive. Raises AgentsError where the turn fails: before the first event where it
        fails at once."""
        answer, has_begun, has_ended = AgentAnswer(), False, False
        try:
            async with aclosing(self._deltas(answer)) as deltas:
                async for delta in deltas:
                    if not has_begun:
                        yield self._event(choice({"role": "assistant", "content": ""}))
                    has_begun = True
                    yield self._event(choice(delta))
            has_ended = True
            _check(answer)
            yield self._event(choice({}, answer.finish_reason))
            if self.body.stream_options and self.body.stream_options.include_usage:
                yield self._event([], usage=usage_of(answer))
        finally:
            if not has_ended:
                await self._stop()

    async def full_completion(self) -> bytes:
        """Return the completion as JSON. Raises AgentsError where the turn fails."""
        answer, assembly, has_ended = AgentAnswer(), CompletionAssembly(), False
        try:
            async with aclosing(self._deltas(answer)) as deltas:
                async for delta in deltas:
                    assembly.add({"choices": choice(delta)})
            has_ended = True
        finally:
            if not has_ended:
                await self._stop()
        _check(answer)
        assembly.add({"choices": choice({}, answer.finish_reason), "usage": usage_of(answer)})
        return msgspec.json.encode({**self._head("chat.completion"), **assembly.completion()})

    async def _deltas(self, answer: AgentAnswer) -> AsyncGenerator[dict[str, Any], None]:
        after = (self.started.first_seq - 1, LAST_ORDINAL)
        follow = live.follow(self.started.turn, after, until_response=self.started.first_seq)
        async with aclosing(follow) as batches:
            async for batch in batches:
                for delta in answer.deltas(batch):
                    yield delta

    async def _stop(self) -> None:
        """Cancel the turn whose caller has gone, though the task that does so is cancelled itself."""
        with suppress(AgentsError):  # it has ended, or was deleted, meanwhile
            await asyncio.shield(asyncio.ensure_future(read(self._cancel)))

    def _cancel(self) -> None:
        service().cancel_turn(self.actor, self.started.turn)

    def _event(self, choices: list[dict[str, JSON]], **more: JSON) -> dict[str, JSON]:
        return {**self._head("chat.completion.chunk"), "choices": choices, **more}

    def _head(self, kind: str) -> Mapping[str, JSON]:
        turn = self.started.turn
        return {
            "id": ids.openai(ids.Kind.COMPLETION, turn),
            "object": kind,
            "created": self.created,
            "model": self.body.model,
            "turn_id": ids.public(ids.Kind.TURN, turn),
            "session_id": ids.public(ids.Kind.SESSION, self.started.session),
        }


def _check(answer: AgentAnswer) -> None:
    """Raise the error of a turn that did not complete."""
    ended = answer.ended
    if not isinstance(ended, TurnEnded) or ended.status == "completed":
        return
    status = error_status(ended.error) if ended.status == "failed" else 409
    message = (
        ended.error.message if ended.error else f"The turn was {ended.status}: {ended.reason or 'no reason given'}"
    )
    error = AgentsError(message, code=ended.error.type if ended.error else ended.status)
    error.status, error.type = status, type_of(status)
    error.headers["x-should-retry"] = "false"
    raise error


# ---------------------------------------------------------------------------------------------- start


def begin(actor: Actor, agent: AgentRecord, body: AgentChatRequest, sent: SentRequest) -> AgentChat:
    """Start a turn of an agent, or go on with the one whose calls are answered. Blocking. Raises as starting a turn
    does."""
    chat = parse(body.messages)
    if not chat.messages:
        raise InvalidRequest("messages: the last one must be of the user, or answer a call.", param="messages")
    created = ids.now_us() // 1_000_000
    waiting = _waiting_turn(actor, agent, chat)
    started = _start(actor, agent, chat, sent) if waiting is None else _resume(actor, waiting, chat, sent)
    return AgentChat(actor, body, started, created)


def _start(actor: Actor, agent: AgentRecord, chat: ParsedChat, sent: SentRequest) -> Started:
    said = [text_of(message.content) for message in chat.messages if isinstance(message, UserMessage)]
    session = NewSession(ids.new_key(), agent.key, sessions.name_of(" ".join(said)))
    earlier = [NewItem(ids.new_key(), message) for message in chat.before]
    body = CreateTurn(messages=list(chat.messages), stream=True)
    return service().start_turn(actor, agent, session.key, body, sent.in_new_session(session, earlier))


def _waiting_turn(actor: Actor, agent: AgentRecord, chat: ParsedChat) -> TurnTarget | None:
    """Return the turn of the agent that waits for exactly these answers; None where none does."""
    steps = chat.answered_steps
    if steps is None:
        return None
    try:
        found = targets.find(actor, "step", ids.public(ids.Kind.STEP, steps[0]), "run")
    except NotFound:
        return None
    assert found.turn is not None  # a step has a turn
    target = turns.target(actor, found.turn, action="run")
    waits = target.agent == agent.key and target.status == TurnStatus.AWAITING_INPUT
    pending = sorted(awaited.step for awaited in turns.pending_calls(target.key)) if waits else []
    return target if pending == sorted(steps) else None


def _resume(actor: Actor, target: TurnTarget, chat: ParsedChat, sent: SentRequest) -> Started:
    answers = {
        ids.parse_part(ids.Kind.STEP, message.call_id): message.content
        for message in chat.messages
        if isinstance(message, ToolResponseMessage)
    }
    calls = {awaited.step: ToolCall.model_validate_json(awaited.call) for awaited in turns.pending_calls(target.key)}
    responses = [
        ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=answers[step])
        for step, call in calls.items()
        if step in answers
    ]
    body = ResumeTurn(tool_responses=responses, stream=True)
    return service().resume_turn(actor, target, service().config_of(actor, target), body, sent)
