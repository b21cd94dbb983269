"""What subjects above the loop add to it: shields, tools and documents of a turn, and what those need.

A subject sets its functions when it is installed. Without it they refuse what a request names in vain, like any other
name that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.retrieval import Documents
from agents.loop.protocols.shields import Shield
from agents.loop.protocols.tools import ToolGroup
from agents.loop.provider_set import Equipment, Providers
from agents.loop.schemas.turns import Document
from agents.loop.tasks import Runner
from agents.record.schemas.agents import AgentToolGroup

Equip = Callable[[Endpoints, EmbeddingModels, float], Equipment]
"""Equips a process from its settings; pace 0 makes what is scripted answer at once. Raises ImproperlyConfigured."""


def not_installed(what: str, subject: str, param: str) -> InvalidRequest:
    """The answer to who asks for what no subject of this server does; ``what`` goes with its verb."""
    words = f"{param}: {what} not available on this server: the subject {subject} is not installed."
    return InvalidRequest(words, param=param, code="not_installed")


class FindGroup(Protocol):
    """Finds a group of tools that is not `Providers.tools`': the actor sees it and may do this with it."""

    def __call__(self, providers: Providers, actor: Actor, name: str, action: Action) -> ToolGroup | None: ...


class ListGroups(Protocol):
    """Lists the groups of tools that are not `Providers.tools`': those that the actor sees and may do this with."""

    def __call__(self, providers: Providers, actor: Actor, action: Action) -> Sequence[ToolGroup]: ...


class FindShields(Protocol):
    """Finds shields by their names for an action. Raises InvalidRequest, for ``param``, for a name that is none's."""

    def __call__(
        self, providers: Providers, actor: Actor, names: Sequence[str], param: str, action: Action = "run"
    ) -> list[Shield]: ...


class DocumentText(Protocol):
    """Reads the documents of a turn, where their text is all there is to them. Raises InvalidRequest."""

    def __call__(
        self, providers: Providers, groups: Sequence[AgentToolGroup], documents: Sequence[Document]
    ) -> str: ...


class SlowDocuments(Protocol):
    """Keeps the documents of a turn that have to be fetched, read or put into a database first."""

    def __call__(
        self,
        providers: Providers,
        session: int,
        turn: int,
        groups: Sequence[AgentToolGroup],
        documents: Sequence[Document],
    ) -> Documents | None: ...


def no_group(providers: Providers, actor: Actor, name: str, action: Action) -> ToolGroup | None:
    """Finds nothing: the subject ``tools`` is not installed."""
    return None


def _no_groups(providers: Providers, actor: Actor, action: Action) -> Sequence[ToolGroup]:
    return ()


def _no_shields(
    providers: Providers, actor: Actor, names: Sequence[str], param: str, action: Action = "run"
) -> list[Shield]:
    if names:
        raise not_installed("shields are", "safety", param)
    return []


def _no_document_text(providers: Providers, groups: Sequence[AgentToolGroup], documents: Sequence[Document]) -> str:
    if documents:
        raise not_installed("documents are", "knowledge", "documents")
    return ""


def _no_slow_documents(
    providers: Providers, session: int, turn: int, groups: Sequence[AgentToolGroup], documents: Sequence[Document]
) -> Documents | None:
    return None


@dataclass(slots=True)
class Extensions:
    """``equip`` and ``service_parts`` are by subject: what a process is equipped with, and what its service has beside
    the runner, each by its class (`Service.part`)."""

    equip: dict[str, Equip] = field(default_factory=dict)
    service_parts: dict[str, Callable[[Runner, Providers], Any]] = field(default_factory=dict)
    find_group: FindGroup = no_group
    list_groups: ListGroups = _no_groups
    shields: FindShields = _no_shields
    document_text: DocumentText = _no_document_text
    slow_documents: SlowDocuments = _no_slow_documents


extensions = Extensions()
