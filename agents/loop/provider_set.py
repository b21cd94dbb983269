"""The providers of this server by name, to which requests refer. They are created at start-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agents.base.access import Actor
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.retrieval import Retriever
from agents.loop.protocols.tools import ServerToolGroup

Part = TypeVar("Part")
MakeRetriever = Callable[[Actor, int, Mapping[str, Any]], Retriever]
"""Creates a retriever for an actor, a session and the args of its group. Raises InvalidRequest."""


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers of a process. ``tools`` are the groups that need no query; ``parts`` are objects of subjects above
    the loop for their own use, by class."""

    endpoints: Endpoints
    embeddings: EmbeddingModels = field(default_factory=EmbeddingModels)
    tools: Mapping[str, ServerToolGroup] = field(default_factory=dict)
    retrievers: Mapping[str, MakeRetriever] = field(default_factory=dict)
    tool_timeout_s: float = 60.0
    parts: Mapping[type, Any] = field(default_factory=dict)

    def part(self, kind: type[Part]) -> Part:
        """Return the part of this class, which its subject has added."""
        part: Part = self.parts[kind]
        return part


@dataclass(frozen=True, slots=True)
class SubjectProviders:
    """The providers that one subject adds to `Providers`."""

    tools: Mapping[str, ServerToolGroup] = field(default_factory=dict)
    retrievers: Mapping[str, MakeRetriever] = field(default_factory=dict)
    parts: tuple[object, ...] = ()


def build_providers(
    endpoints: Endpoints, embeddings: EmbeddingModels, subjects: list[SubjectProviders], *, tool_timeout_s: float
) -> Providers:
    """Build the providers of a process from those of its subjects."""
    return Providers(
        endpoints=endpoints,
        embeddings=embeddings,
        tools={name: group for subject in subjects for name, group in subject.tools.items()},
        retrievers={name: make for subject in subjects for name, make in subject.retrievers.items()},
        tool_timeout_s=tool_timeout_s,
        parts={type(part): part for subject in subjects for part in subject.parts},
    )
