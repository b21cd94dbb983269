"""Extension points for subjects above the loop: shields, tools and documents of a turn, and their providers.

A subject sets its functions when it is installed. Without the subject the defaults refuse a request that needs it,
as they refuse an unknown name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest
from agents.loop.embeddings.registry import EmbeddingModels
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.retrieval import DocumentPreparation
from agents.loop.protocols.shields import ShieldProtocol
from agents.loop.protocols.tools import ServerToolGroup, Tool, ToolSource
from agents.loop.provider_set import Providers, SubjectProviders
from agents.loop.schemas.turns import Document
from agents.loop.tasks import Runner
from agents.record.models.choices import Api
from agents.record.schemas.agents import AgentToolGroup, HostedToolConfig

if TYPE_CHECKING:
    from agents.loop.takeover import RebuiltRun, StoredRun

MakeProviders = Callable[[Endpoints, EmbeddingModels, float], SubjectProviders]
"""Creates a subject's providers from the settings, for a pace of scripted ones (0: no delay). Raises
ImproperlyConfigured."""


def not_installed(feature: str, subject: str, param: str) -> InvalidRequest:
    """Return the error for a request that needs a subject which is not installed; ``feature`` includes its verb."""
    message = f"{param}: {feature} not available on this server: the subject {subject} is not installed."
    return InvalidRequest(message, param=param, code="not_installed")


@dataclass(frozen=True, slots=True)
class HostedTools:
    """Tools of the server that an agent names itself, by their names for the model, and sources of more."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    sources: Sequence[ToolSource] = ()


class MakeHostedTools(Protocol):
    """Creates the tools that an agent names in the words of OpenAI's Agents API. Raises InvalidRequest."""

    def __call__(self, providers: Providers, actor: Actor, tools: Sequence[HostedToolConfig]) -> HostedTools: ...


class MakeTools(Protocol):
    """Makes the tools of a group out of the arguments that an agent, or a turn, has for it. Raises InvalidRequest for
    those that the group cannot take, or whose objects the actor may not use."""

    def __call__(self, providers: Providers, actor: Actor, args: Mapping[str, Any]) -> Sequence[Tool]: ...


class FindGroup(Protocol):
    """Finds a group of tools other than `Providers.tools`, if the actor may see it and has the right to ``action``."""

    def __call__(self, providers: Providers, actor: Actor, name: str, action: Action) -> ServerToolGroup | None: ...


class ListGroups(Protocol):
    """Lists the groups of tools other than `Providers.tools` for which the actor has the right to ``action``."""

    def __call__(self, providers: Providers, actor: Actor, action: Action) -> Sequence[ServerToolGroup]: ...


class FindShields(Protocol):
    """Finds shields by their names. Raises InvalidRequest, for ``param``, for an unknown name."""

    def __call__(
        self, providers: Providers, actor: Actor, names: Sequence[str], param: str, action: Action = "run"
    ) -> list[ShieldProtocol]: ...


class ListShields(Protocol):
    """Lists the names of the shields for which the actor has the right to ``action``."""

    def __call__(self, providers: Providers, actor: Actor, action: Action) -> Sequence[str]: ...


class DocumentText(Protocol):
    """Returns the text of a turn's inline documents. Raises InvalidRequest."""

    def __call__(
        self, providers: Providers, groups: Sequence[AgentToolGroup], documents: Sequence[Document]
    ) -> str: ...


class SlowDocuments(Protocol):
    """Returns the preparation of a turn's documents that have to be fetched, read or indexed first."""

    def __call__(
        self,
        providers: Providers,
        session: int,
        turn: int,
        groups: Sequence[AgentToolGroup],
        documents: Sequence[Document],
    ) -> DocumentPreparation | None: ...


def no_group(providers: Providers, actor: Actor, name: str, action: Action) -> ServerToolGroup | None:
    """Find no group: the subject ``tools`` is not installed."""
    return None


def _no_groups(providers: Providers, actor: Actor, action: Action) -> Sequence[ServerToolGroup]:
    return ()


def _no_hosted_tools(providers: Providers, actor: Actor, tools: Sequence[HostedToolConfig]) -> HostedTools:
    raise not_installed(f"{tools[0].type} is", "tools", "tools")


def _no_shields(
    providers: Providers, actor: Actor, names: Sequence[str], param: str, action: Action = "run"
) -> list[ShieldProtocol]:
    if names:
        raise not_installed("shields are", "safety", param)
    return []


def _no_shield_names(providers: Providers, actor: Actor, action: Action) -> Sequence[str]:
    return ()


def _no_document_text(providers: Providers, groups: Sequence[AgentToolGroup], documents: Sequence[Document]) -> str:
    if documents:
        raise not_installed("documents are", "knowledge", "documents")
    return ""


def _no_slow_documents(
    providers: Providers, session: int, turn: int, groups: Sequence[AgentToolGroup], documents: Sequence[Document]
) -> DocumentPreparation | None:
    return None


class BuildRun(Protocol):
    """Builds the run of a turn that is taken over from what is stored of its request. Raises AgentsError."""

    def __call__(self, stored: StoredRun) -> RebuiltRun: ...


def _no_forks(stored: StoredRun) -> RebuiltRun:
    raise not_installed("forks are", "forks", "turn")


@dataclass(slots=True)
class LoopExtensions:
    """The functions that subjects set. ``make_providers`` and ``service_parts`` are by subject: they create the
    subject's providers, and its part of the service (`Service.part`). ``groups_by_args`` are by the names of groups,
    which come before all others. ``run_builders`` are by API, ``fork_builder`` is for forks of all of them."""

    make_providers: dict[str, MakeProviders] = field(default_factory=dict)
    service_parts: dict[str, Callable[[Runner, Providers], Any]] = field(default_factory=dict)
    groups_by_args: dict[str, MakeTools] = field(default_factory=dict)
    find_group: FindGroup = no_group
    list_groups: ListGroups = _no_groups
    hosted_tools: MakeHostedTools = _no_hosted_tools
    shields: FindShields = _no_shields
    list_shields: ListShields = _no_shield_names
    document_text: DocumentText = _no_document_text
    slow_documents: SlowDocuments = _no_slow_documents
    run_builders: dict[Api, BuildRun] = field(default_factory=dict)
    fork_builder: BuildRun = _no_forks


extensions = LoopExtensions()
