"""What an agent says of the agents that it may call."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.base.schemas.wire import Wire

FUNCTION_NAME = r"^[a-zA-Z0-9_-]{1,64}$"
"""What a model's function may be called."""


class CallableAgent(Wire):
    """An agent by its id or its name, with what the model is told of it."""

    agent: str = Field(min_length=1, max_length=300)
    name: str | None = Field(default=None, pattern=FUNCTION_NAME)
    description: str | None = Field(default=None, max_length=4000)


AgentName = Annotated[str, Field(min_length=1, max_length=300)]


class SubagentArgs(Wire):
    """The arguments of the group: the agents, how many levels of calls there may be below a turn (``max_depth``), how
    many calls a turn may make, and how many of them at once."""

    agents: list[AgentName | CallableAgent] = Field(min_length=1, max_length=32)
    max_depth: int = Field(default=3, ge=1, le=10)
    max_turns: int = Field(default=20, ge=1, le=100)
    max_parallel: int = Field(default=6, ge=1, le=20)
