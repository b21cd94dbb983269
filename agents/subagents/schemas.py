"""What an agent says of the agents that it may call, and what came of that."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agents.base.schemas.wire import Wire, WireOutput
from agents.logs.schemas.rows import TurnRow

FUNCTION_NAME = r"^[a-zA-Z0-9_-]{1,64}$"
"""What a model's function may be called."""


class CallableAgent(Wire):
    """An agent by its id or its name, with what the model is told of it. With ``hand_over`` it goes on with the turn
    itself rather than answering a task."""

    agent: str = Field(min_length=1, max_length=300)
    name: str | None = Field(default=None, pattern=FUNCTION_NAME)
    description: str | None = Field(default=None, max_length=4000)
    hand_over: bool = False


AgentName = Annotated[str, Field(min_length=1, max_length=300)]


class SubagentArgs(Wire):
    """The arguments of the group: the agents, how many levels of calls there may be below a turn (``max_depth``), how
    many calls a turn may make, and how many of them at once."""

    agents: list[AgentName | CallableAgent] = Field(min_length=1, max_length=32)
    max_depth: int = Field(default=3, ge=1, le=10)
    max_turns: int = Field(default=20, ge=1, le=100)
    max_parallel: int = Field(default=6, ge=1, le=20)


class UsedByTurns(WireOutput):
    """What turns have used together: their number, their tokens, and their cost in dollars as far as it is known."""

    turns: int
    total_tokens: int
    cost_usd: float | None


class CalledTurns(WireOutput):
    """The turns below a turn, as rows of the log; what the turn has used by itself (``own``), and with them
    (``total``)."""

    data: list[TurnRow]
    own: UsedByTurns
    total: UsedByTurns
