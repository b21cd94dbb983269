"""Turns to be forked, played in the test's own process by a model that remembers what it is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.forks.runner import fork
from agents.forks.runner.fork import ForkRequest
from agents.forks.schemas.forks import ForkTurn
from agents.loop import current_service
from agents.loop.inference.base import Chunk, InferenceRequest, Model
from agents.loop.inference.chat.request import encode
from agents.loop.inference.registry import Endpoints
from agents.loop.inference.scripted import ScriptedEndpoint
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.service import Service
from agents.record.schemas.content import ToolResponse, UserMessage
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import agents as agent_store
from agents.record.store import read_turns, turns
from agents.record.store.agents import AgentRecord
from tests.support.inprocess import inline_service
from tests.support.pages.openai_requests import respond

CLIENT_TOOL = {"name": "ask", "parameters": [{"name": "what", "parameter_type": "string", "description": "what"}]}


@dataclass
class Listening:
    """The scripted model; ``heard`` are the bodies it was sent, as bytes."""

    name: str = "scripted"
    heard: list[bytes] = field(default_factory=list)
    model: ScriptedEndpoint = field(default_factory=ScriptedEndpoint)

    async def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        self.heard.append(encode(request))
        async for chunk in self.model.stream(request):
            yield chunk

    async def models(self) -> list[Model]:
        return await self.model.models()

    async def close(self) -> None:
        await self.model.close()

    def take(self) -> list[bytes]:
        heard, self.heard = self.heard, []
        return heard


@contextmanager
def listening_service() -> Iterator[tuple[Service, Listening]]:
    """A service that plays each turn while its request waits, and its model."""
    model = Listening()
    with inline_service() as made:
        service = Service(made.runner, replace(made.providers, endpoints=Endpoints({"scripted": model}, "scripted")))
        current_service.use(service)
        yield service, model


@dataclass
class Stage:
    """One actor with a service; all turns are of one session of one agent."""

    actor: Actor
    service: Service
    model: Listening

    def say(self, agent: AgentRecord, session: int, *lines: str, **body: Any) -> int:
        """A turn whose model performs these lines; its key."""
        message = UserMessage(content="\n".join(["!script", *lines, "end"]))
        return self.service.start_turn(self.actor, agent, session, CreateTurn(messages=[message], **body)).turn

    def answer(self, turn: int, *words: str) -> None:
        """Answer for the client what a turn waits for, or, where it waits for nothing, a call it never made."""
        place = turns.target(self.actor, turn, action="run")
        calls = [call for call in self.waiting(turn)] or [{"call_id": "unseen", "tool_name": "unseen"}]
        answers = [
            ToolResponse(call_id=call["call_id"], tool_name=call["tool_name"], content=text)
            for call, text in zip(calls, words, strict=True)
        ]
        config = self.service.config_of(self.actor, place)
        self.service.resume_turn(self.actor, place, config, ResumeTurn(tool_responses=answers))

    def waiting(self, turn: int) -> list[dict[str, Any]]:
        return [json.loads(pending.call) for pending in turns.pending_calls(turn)]

    def fork(self, turn: int, step: int | str = 1, tools: str = "recorded", **changes: Any) -> int:
        body = ForkTurn.model_validate({"step": step, "tools": tools, "changes": changes})
        return fork.begin(self.service, ForkRequest(self.actor, turn, body, raw=b"{}")).turn

    def turn(self, key: int) -> TurnSnapshot:
        return read_turns.turn(self.actor, key)

    def agent(self, key: str) -> AgentRecord:
        return agent_store.get(self.actor, agent_store.key_of(key))


def respond_more(actor: Actor, response_id: str, *outputs: tuple[str, str], say: str = "", **more: Any) -> str:
    """Answer a response's calls, perhaps with words beside; its public id."""
    items: list[dict[str, Any]] = [
        {"type": "function_call_output", "call_id": call_id, "output": words} for call_id, words in outputs
    ]
    items += [{"role": "user", "content": say}] if say else []
    return respond(actor, given=items, previous_response_id=response_id, **more)[0]


def shape(turn: TurnSnapshot) -> list[tuple[str, str, str]]:
    return [(step.type, step.name, step.status) for step in turn.steps]


def key_of(turn_id: str) -> int:
    key = ids.parse(ids.Kind.TURN, turn_id)
    assert key is not None
    return key


def said(turn: TurnSnapshot) -> Sequence[bytes]:
    return [step.detail or b"" for step in turn.steps if step.type == "inference"]
