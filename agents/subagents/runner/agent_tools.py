"""Agents as functions for a model: their names and descriptions, and what a call of one does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.api.negotiation import invalid
from agents.base.errors import AgentsError, InvalidRequest, NotFound
from agents.base.reading import read
from agents.loop import agent_names, hand_over
from agents.loop.current_service import service
from agents.loop.protocols.tools import Repeat, Tool, ToolContext, ToolResult, failure
from agents.loop.provider_set import Providers
from agents.loop.run import Run
from agents.loop.schemas.turns import CreateTurn
from agents.loop.sent_request import SentRequest
from agents.loop.tasks import RUN_S
from agents.record import live
from agents.record.schemas.content import ToolDef, ToolParameter, UserMessage, text_of
from agents.record.schemas.events import TurnAwaiting, TurnEnded
from agents.record.store import agent_calls, agents, sessions
from agents.record.store.agent_calls import AlreadyCalled, NewCall
from agents.record.store.agents import AgentRecord
from agents.record.store.hand_overs import Handing
from agents.record.store.sessions import NewSession
from agents.subagents.schemas import CallableAgent, SubagentArgs

GROUP = "builtin::agents"
MAX_TOLD_CHARS = 400
"""Characters of an agent's instructions that stand in its description, where it has no other."""
_OUTCOMES = {"failed": "failed", "cancelled": "was cancelled", "interrupted": "was interrupted"}
NEEDS_CLIENT = "waits for its client, and a sub-agent has none. It was stopped."


@dataclass(frozen=True, slots=True)
class _Calls:
    """What the functions of a turn share: who calls, the limits, and the places for calls at once."""

    actor: Actor
    limits: SubagentArgs
    places: asyncio.Semaphore


@dataclass(frozen=True, slots=True)
class AgentTool:
    """An agent as a function. A repeated call finds the turn that the first one began, and waits for it."""

    agent: AgentRecord
    definition: ToolDef
    calls: _Calls
    group: str = GROUP
    repeat: Repeat = "idempotent"
    timeout_s: float = RUN_S

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        text = arguments.get("input")
        if not isinstance(text, str) or not text.strip():
            return failure(f"{self.definition.name} was not called: input must be a text, and say what to do.")
        parent, step = ids.parse(ids.Kind.TURN, context.turn_id), ids.parse(ids.Kind.STEP, context.call_key)
        session = ids.parse(ids.Kind.SESSION, context.session_id)
        if parent is None or step is None or session is None:
            return failure("Agents can be called by turns alone.")
        limits = self.calls.limits
        new = NewCall(parent, step, limits.max_depth, limits.max_turns)
        async with self.calls.places:
            turn = await read(self._turn, new, session, text, context)
            return await self._outcome(turn)

    def _turn(self, new: NewCall, beside: int, text: str, context: ToolContext) -> int:
        """Return the turn that answers a call; begin it where there is none. Raises AgentsError."""
        turn = agent_calls.turn_of_step(new.step)
        if turn is not None:
            return turn
        session = NewSession(ids.new_key(), self.agent.key, sessions.name_of(text), beside=beside)
        body = CreateTurn(messages=[UserMessage(content=text)], budget=context.budget)
        sent = SentRequest(provider_data=context.provider_data, new_session=session, call=new)
        try:
            return service().start_turn(self.calls.actor, self.agent, session.key, body, sent).turn
        except AlreadyCalled as first:
            return first.turn

    async def _outcome(self, turn: int) -> ToolResult:
        """Wait for the end of a turn."""
        async with aclosing(live.follow(turn)) as batches:
            async for batch in batches:
                for entry in batch:
                    if isinstance(entry, TurnEnded):
                        return self._result(turn, entry)
                    if isinstance(entry, TurnAwaiting):
                        return await self._stop_waiting(turn)
        return failure(f"{self._name} did not answer: its turn was deleted.")

    async def _stop_waiting(self, turn: int) -> ToolResult:
        try:
            await read(service().cancel_turn, self.calls.actor, turn)
        except AgentsError as error:
            return failure(f"{self._name} {NEEDS_CLIENT} {error.message}")
        return failure(f"{self._name} {NEEDS_CLIENT}")

    def _result(self, turn: int, end: TurnEnded) -> ToolResult:
        answer = text_of(end.output_message.content) if end.output_message else ""
        called = {"turn_id": ids.public(ids.Kind.TURN, turn)}
        if end.status == "completed":
            return ToolResult(answer or f"({self._name} gave no answer.)", metadata=called)
        reason = end.error.message if end.error else end.reason or "no reason is known"
        message = f"{self._name} {_OUTCOMES[end.status]}: {reason}"
        return ToolResult(message, error=message, metadata=called)

    @property
    def _name(self) -> str:
        return self.definition.name


@dataclass(frozen=True, slots=True)
class HandOverTool:
    """A function that hands the turn over to an agent."""

    agent: AgentRecord
    definition: ToolDef
    providers: Providers
    actor: Actor
    group: str = GROUP
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        name = self.agent.name or self.agent.public_id
        try:
            await read(hand_over.check, self.providers, self.actor, self.agent)
        except AgentsError as error:
            return failure(f"{name} cannot go on: {error.message}")
        told = f"The conversation was handed over. You are {name} now, and go on with it."
        return ToolResult(told, metadata={"agent_id": self.agent.public_id})

    async def hand_over(self, run: Run, step: int, number: int) -> Run:
        return await read(hand_over.hand_over, self.providers, self.actor, run, Handing(step, number), self.agent)


def make_tools(providers: Providers, actor: Actor, args: Mapping[str, Any]) -> Sequence[Tool]:
    """Make a function of each agent. Raises InvalidRequest for arguments that cannot be, an agent that the actor may
    not run, and two functions of one name."""
    try:
        limits = SubagentArgs.model_validate(dict(args))
    except ValidationError as error:
        raise _refusal(f"args.{invalid(error).message}") from error
    calls = _Calls(actor, limits, asyncio.Semaphore(limits.max_parallel))
    named = [CallableAgent(agent=entry) if isinstance(entry, str) else entry for entry in limits.agents]
    return [
        _hand_over(entry, providers, actor) if entry.hand_over else _tool(entry, _found(entry, actor), calls)
        for entry in named
    ]


def _found(entry: CallableAgent, actor: Actor) -> AgentRecord:
    try:
        key = ids.parse_spelled(ids.Kind.AGENT, entry.agent)  # as OpenAI's Agents API writes it, too
        name = entry.agent if key is None else ids.public(ids.Kind.AGENT, key)
        agent = agent_names.find(actor, name, param="agents")
        agents.check_here(agent)
    except (NotFound, InvalidRequest) as error:
        reason = error.message.removeprefix("agents: ")
        raise _refusal(f"args.agents: {reason}", error.code or "agent_not_found") from error
    return agent


def _hand_over(entry: CallableAgent, providers: Providers, actor: Actor) -> HandOverTool:
    agent = _found(entry, actor)
    reason = ToolParameter(
        name="reason", parameter_type="string", description="Why, for whoever reads the log.", required=False
    )
    name = entry.name or f"transfer_to_{function_name(agent)}"[:64]
    head = f"Hand the conversation over to the agent {agent.name or agent.public_id}, which goes on with it."
    description = entry.description or _described(head, agent)
    definition = ToolDef(name=name, description=description, parameters=[reason])
    return HandOverTool(agent, definition, providers, actor)


def _tool(entry: CallableAgent, agent: AgentRecord, calls: _Calls) -> AgentTool:
    task = ToolParameter(
        name="input",
        parameter_type="string",
        description="The task, with all that the agent has to know of it: it sees nothing of this conversation.",
        required=True,
    )
    function, description = entry.name or function_name(agent), entry.description or _description(agent)
    return AgentTool(agent, ToolDef(name=function, description=description, parameters=[task]), calls)


def function_name(agent: AgentRecord) -> str:
    """Return the name of the function that calls an agent: the agent's own, as far as it can be one."""
    words = re.findall(r"[a-zA-Z0-9]+", agent.name or "")
    return "_".join(words)[:64] or f"agent_{agent.public_id[:8]}"


def _description(agent: AgentRecord) -> str:
    name = agent.name or agent.public_id
    return _described(f"Give a task to the agent {name}, which works on it by itself and answers.", agent)


def _described(head: str, agent: AgentRecord) -> str:
    instructions = " ".join(agent.config.instructions.split())
    cut = f"{instructions[:MAX_TOLD_CHARS]}…" if len(instructions) > MAX_TOLD_CHARS else instructions
    return f"{head} What it is told to be: {cut}" if cut else head


def _refusal(message: str, code: str | None = None) -> InvalidRequest:
    return InvalidRequest(f"toolgroups: {GROUP}: {message}", param="toolgroups", code=code)
