"""What this server can lean on, by name: everything a request may refer to. Filled at start-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agents.base.access import Actor
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.retrieval import Memory
from agents.loop.protocols.tools import ToolGroup

Part = TypeVar("Part")
MakeMemory = Callable[[Actor, int, Mapping[str, Any]], Memory]
"""A memory for an actor, a session and the args of its group. Raises InvalidRequest."""


@dataclass(frozen=True, slots=True)
class Providers:
    """``tools`` are the groups that need no look into the database; ``parts`` what subjects above the loop hold here
    for their own work, each by its class."""

    endpoints: Endpoints
    embeddings: EmbeddingModels = field(default_factory=EmbeddingModels)
    tools: Mapping[str, ToolGroup] = field(default_factory=dict)
    memory: Mapping[str, MakeMemory] = field(default_factory=dict)
    tool_timeout_s: float = 60.0
    parts: Mapping[type, Any] = field(default_factory=dict)

    def part(self, kind: type[Part]) -> Part:
        """What the subject that knows this class put here."""
        part: Part = self.parts[kind]
        return part


@dataclass(frozen=True, slots=True)
class Equipment:
    """What one subject adds to `Providers`."""

    tools: Mapping[str, ToolGroup] = field(default_factory=dict)
    memory: Mapping[str, MakeMemory] = field(default_factory=dict)
    parts: tuple[object, ...] = ()


def assembled(
    endpoints: Endpoints, embeddings: EmbeddingModels, added: list[Equipment], *, tool_timeout_s: float
) -> Providers:
    """The providers of a process, of what its subjects add."""
    return Providers(
        endpoints=endpoints,
        embeddings=embeddings,
        tools={name: group for each in added for name, group in each.tools.items()},
        memory={name: make for each in added for name, make in each.memory.items()},
        tool_timeout_s=tool_timeout_s,
        parts={type(part): part for each in added for part in each.parts},
    )
