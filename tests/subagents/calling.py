"""Agents that call agents, and what they are told to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.loop.schemas.turns import CreateTurn
from agents.loop.service import Service
from agents.record.models.agent_calls import AgentCall
from agents.record.schemas.content import UserMessage
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import read_turns
from agents.record.store.agents import AgentRecord
from agents.subagents.runner.agent_tools import GROUP
from tests.support.builders import make_agent, make_session
from tests.support.live.caller import script


def calling(*agents: Any, **args: Any) -> list[dict[str, Any]]:
    """The tool groups of an agent that may call these."""
    return [{"name": GROUP, "args": {"agents": list(agents), **args}}]


def call(name: str, *lines: str) -> str:
    """The line of a script that calls an agent whose model performs these lines."""
    return f"call {name} {json.dumps({'input': script(*lines)})}"


@dataclass
class Stage:
    """One actor with a service that plays each turn while its request waits."""

    actor: Actor
    service: Service

    def agent(self, name: str, *called: Any, **config: Any) -> AgentRecord:
        """An agent that may call these."""
        groups = calling(*called) if called else config.pop("toolgroups", [])
        return make_agent(self.actor, name=name, toolgroups=groups, **config)

    def say(self, agent: AgentRecord, *lines: str, session: int | None = None) -> int:
        """A turn of an agent whose model performs these lines; its key."""
        session = session or make_session(self.actor, agent)
        body = CreateTurn(messages=[UserMessage(content=script(*lines))])
        return self.service.start_turn(self.actor, agent, session, body).turn

    def turn(self, key: int) -> TurnSnapshot:
        return read_turns.turn(self.actor, key, "read")

    def steps(self, key: int) -> list[tuple[str, str]]:
        """The tools that a turn has called, each with the status of its step."""
        return [(step.name, step.status) for step in self.turn(key).steps if step.type == "tool_execution"]

    def result(self, key: int, index: int = 0) -> str:
        """What one of the calls of a turn has come to."""
        called = [step for step in self.turn(key).steps if step.type == "tool_execution"]
        detail = json.loads(called[index].detail or b"{}")
        return str(detail["tool_responses"][0]["content"])

    def answer(self, key: int) -> str:
        return str(json.loads(self.turn(key).output_message or "{}")["content"])


def children(turn: int) -> Sequence[AgentCall]:
    """What a turn has called, in the order of its calls: those that run at once begin in any order."""
    return list(AgentCall.all_objects.filter(parent_id=turn).order_by("step_id"))
