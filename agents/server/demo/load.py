"""Plays the demo's scenes and stores their turns with times of the last two days."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from django.db import transaction

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.knowledge.providers.memory import scripted as memory
from agents.loop.inference.registry import Endpoints
from agents.loop.inference.scripted import ScriptedEndpoint
from agents.loop.loop import Loop
from agents.loop.prepare import build_run
from agents.loop.protocols.shields import ShieldSpec
from agents.loop.protocols.tools import ServerToolGroup
from agents.loop.provider_set import Providers
from agents.loop.schemas.turns import CreateTurn
from agents.record.models.choices import Api, Source
from agents.record.models.prices import Price
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import ToolResponse, UserMessage
from agents.record.schemas.items import tool_definition
from agents.record.store import agents, history, recorder, sessions, start_turn
from agents.record.store.agents import AgentRecord
from agents.record.store.new_responses import NewResponse
from agents.record.store.start_turn import NewTurn, Resumption
from agents.responses.runner import input
from agents.responses.schemas.requests import CreateResponse
from agents.responses.wire.settings import settings_json
from agents.safety.providers.registry import ShieldRegistry
from agents.safety.providers.scripted import PhraseShield
from agents.server.demo.concierge import CONCIERGE
from agents.server.demo.play_scene import SceneClock, ScenePrompter, SceneRecording, play, resumed_run
from agents.server.demo.scenes import ROLES, Role, Scene
from agents.tools.providers import scripted as tools

SPAN_US = 40 * 3_600_000_000
"""Time between the first scene and now."""
DEFAULT_TURNS = 36
"""Turns that are created when no number is asked for."""
BATCH_SIZE = 200
"""Turns per transaction."""


def load(turn_count: int = 0) -> int:
    """Play scenes until there are ``turn_count`` turns (0: `DEFAULT_TURNS`); return how many were created."""
    actor = keys.local()
    created = 0
    started_us = ids.now_us()
    try:
        _prices()
        performer = _ScenePlayer(actor, started_us - SPAN_US)
        total = turn_count or DEFAULT_TURNS
        gap = SPAN_US // (total + 1)
        plan = _plan()
        while created < total:
            with transaction.atomic():
                for role, session, scene in itertools.islice(plan, min(BATCH_SIZE, total - created)):
                    performer.clock.now_us = max(performer.clock.now_us, started_us - SPAN_US + created * gap)
                    performer.perform(role, session, scene)
                    created += 1
    finally:
        ids.use_clock(None)
    return created


def _plan() -> Iterator[tuple[Role, str, Scene]]:
    """Yield the scenes in the order they are played: the first of each session, then the second, …; endlessly,
    each lap in new sessions."""
    for lap in itertools.count():
        rounds = itertools.zip_longest(
            *(
                [(role, name, scene) for scene in scenes]
                for role in (*ROLES, CONCIERGE)
                for name, scenes in role.sessions.items()
            )
        )
        for role, name, scene in (entry for entries in rounds for entry in entries if entry):
            yield role, f"{name}-{lap}" if lap else name, scene


def _prices() -> None:
    """Add a price for the demo's models, so that the pages show costs."""
    if not Price.objects.exists():
        since = to_datetime(0)
        Price.objects.create(model="scripted/demo", starts_at=since, input_nano=10_000, output_nano=40_000)


@dataclass
class _ScenePlayer:
    """Plays scenes and keeps the agents, sessions and clock that they share."""

    actor: Actor
    start_us: int

    def __post_init__(self) -> None:
        self.clock = SceneClock(self.start_us)
        ids.use_clock(self.clock)
        self._model = ScriptedEndpoint(sleep=self.clock.sleep)
        self._agents: dict[str, AgentRecord] = {}
        self._sessions: dict[tuple[str, str], int] = {}

    def perform(self, role: Role, session: str, scene: Scene) -> None:
        """Play one scene and store it with its times."""
        key, agent = (role.name, session), None if role.responds else self._agent(role)
        if key not in self._sessions:
            agent_key, api = (agent.key, Api.AGENTS) if agent else (None, Api.RESPONSES)
            self._sessions[key] = sessions.create(
                self.actor, agent=agent_key, name=session, api=api, source=Source.DEMO
            )
        self._perform_turn(
            agent.config if agent else AgentConfig.model_validate(role.config), agent, self._sessions[key], scene
        )

    def _agent(self, role: Role) -> AgentRecord:
        if role.name not in self._agents:
            config = AgentConfig.model_validate(role.config)
            self._agents[role.name] = agents.get(self.actor, agents.create(self.actor, config, Source.DEMO))
        return self._agents[role.name]

    def _providers(self, scene: Scene) -> Providers:
        shield = PhraseShield(takes_s=0)
        documents = memory.PolicyMemory(takes_s=0)
        models = Endpoints({"scripted": ScenePrompter(self._model, scene.lines)}, "scripted")
        return Providers(
            endpoints=models,
            tools={
                tools.GROUP: ServerToolGroup(
                    tools.GROUP, tools=[_Paced(tool, self.clock) for tool in tools.tools(pace=0)]
                )
            },
            parts={
                ShieldRegistry: ShieldRegistry(
                    models,
                    {shield.name: ShieldSpec(shield.name, "scripted")},
                    {shield.name: _PacedShield(shield, self.clock)},
                )
            },
            retrievers={memory.GROUP: lambda actor, session, args: _PacedMemory(documents, self.clock)},
        )

    def _perform_turn(self, config: AgentConfig, agent: AgentRecord | None, session: int, scene: Scene) -> None:
        body = CreateTurn(messages=[UserMessage(content=scene.content)])
        turn = self.clock.new_key()
        built = build_run(self._providers(scene), self.actor, turn=turn, session=session, config=config, body=body)
        run = _with(built, clock=self.clock, new_key=self.clock.new_key)
        loop = Loop(run)
        opening = loop.open()
        new = NewTurn(
            key=turn,
            session=session,
            agent=agent.key if agent else None,
            revision=agent.revision if agent else None,
            model=run.model,
            provider=run.inference.name,
            messages=body.messages,
            request="",
            response=self._new_response(config, agent, session, scene.content),
            queued=False,
            source=Source.DEMO,
            await_days=3650,
        )
        turn_ref, first_item = start_turn.open_turn(self.actor, new, opening, "")
        loop.with_history(history.before(session, first=first_item))
        recording = asyncio.run(play(loop, scene))
        self._record(turn_ref, recording)
        if recording.waits and scene.answers:
            resumed = resumed_run(run, recording, scene)
            outputs = [] if agent or resumed.resume is None else list(map(_output, resumed.resume.responses))
            self._resume(resumed, turn_ref, self._new_response(config, agent, session, outputs), scene, first_item)

    def _new_response(self, config: AgentConfig, agent: AgentRecord | None, session: int, content: Any) -> NewResponse:
        """Return the new response: of an agent's client, or of the Responses API where there is no agent."""
        key = self.clock.new_key()
        if agent:
            return NewResponse(key, msgspec.json.encode(content), model=config.model)
        conversation = ids.openai(ids.Kind.SESSION, session)
        request = {
            "model": config.model,
            "instructions": config.instructions,
            "input": content,
            "conversation": conversation,
            "tools": [{"type": "function", **tool_definition(tool)["function"]} for tool in config.client_tools],
        }
        create_response = CreateResponse.model_validate(request)
        settings = settings_json(create_response, conversation=conversation).decode()
        items = input.parse_input(create_response.input).rows
        return NewResponse(key, msgspec.json.encode(request), Api.RESPONSES, config.model, settings, items)

    def _resume(
        self, run: Any, turn_ref: recorder.TurnRef, response: NewResponse, scene: Scene, first_item: int
    ) -> None:
        self.clock.now_us += 9_000_000
        loop = Loop(run)
        opening = loop.open()
        assert loop.run.resume is not None  # `resumed_run` sets it
        next_step = loop.run.resume.next_step
        resumption = Resumption(turn_ref.turn, turn_ref.session, turn_ref.epoch, opening, next_step, True, response)
        resumed = start_turn.resume_turn(resumption, "")
        _, earlier = history.of_turn(turn_ref.turn)
        loop.with_history(history.before(turn_ref.session, first=first_item), earlier)
        self._record(resumed, asyncio.run(play(loop, scene, resumed=True)))

    @staticmethod
    def _record(turn_ref: recorder.TurnRef, recording: SceneRecording) -> None:
        writer.write(partial(recorder.record, turn_ref, recording.events, recording.deltas))


def _output(response: ToolResponse) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": response.call_id, "output": str(response.content)}


def _with(run: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(run, **changes)


@dataclass
class _Paced:
    """A tool whose calls take time on the demo's clock."""

    tool: tools.ScriptedTool
    clock: SceneClock

    @property
    def group(self) -> str:
        return self.tool.group

    @property
    def definition(self) -> Any:
        return self.tool.definition

    @property
    def repeat(self) -> Any:
        return self.tool.repeat

    async def call(self, arguments: dict[str, Any], context: Any) -> Any:
        await self.clock.sleep(0.2 + len(self.tool.definition.name) / 20)
        return await self.tool.call(arguments, context)


@dataclass
class _PacedShield:
    shield: PhraseShield
    clock: SceneClock

    @property
    def name(self) -> str:
        return self.shield.name

    async def check(self, messages: Any, touchpoint: Any) -> Any:
        await self.clock.sleep(0.09)
        return await self.shield.check(messages, touchpoint)


@dataclass
class _PacedMemory:
    memory: memory.PolicyMemory
    clock: SceneClock

    async def retrieve(self, query: str) -> Any:
        await self.clock.sleep(0.31)
        return await self.memory.retrieve(query)
