"""The tool protocol: what the server itself can run for a model.

A tool's result, and its failure, is an answer to the model, not the end of the turn: a tool
raises nothing for what its arguments or the world did, it returns an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from agents.base import redaction
from agents.base.access import Actor
from agents.record.schemas.content import Content, ContentItem, TextItem, ToolDef


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the model cannot name: whose run this is. Ids are public ones, empty where a tool is
    called outside any turn. ``provider_data`` is what the caller sent along for providers (keys,
    headers): for this run only, never stored and never shown."""

    session_id: str
    turn_id: str
    actor: str
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """``error`` is None when the tool did its work; else what went wrong, for model and log."""

    content: Content
    error: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def without(result: ToolResult, secrets: Iterable[str]) -> ToolResult:
    """A result that tells no secret of this server, nor one of ``secrets``."""
    more = tuple(secrets)
    return ToolResult(
        content=_content_without(result.content, more),
        error=None if result.error is None else redaction.redact_error(result.error, more),
        metadata=redaction.redact_json(result.metadata, more),
    )


def _content_without(content: Content, secrets: Sequence[str]) -> Content:
    match content:
        case str():
            return redaction.redact(content, secrets)
        case list():
            return [one.model_copy(update=_told(one, secrets)) for one in content]
        case _:
            return content.model_copy(update=_told(content, secrets))


def _told(item: ContentItem, secrets: Sequence[str]) -> dict[str, Any]:
    return {"text": redaction.redact(item.text, secrets)} if isinstance(item, TextItem) else {}


class Tool(Protocol):
    """One tool of a group."""

    @property
    def group(self) -> str: ...

    @property
    def definition(self) -> ToolDef: ...

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult: ...


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools under one name. ``args`` override what a model says to any of them. ``listed`` gives
    tools another name in lists than the model sees: tool → shown name. ``note`` says what is wrong
    with a group whose tools are those of its last good listing; ``provider_ids`` are other names of
    what does its work; ``check`` looks whether it can work, and says what is wrong. ``bind`` gives the tools as they
    act for somebody, where they look into what is somebody's."""

    name: str
    provider_id: str = "builtin"
    tools: Sequence[Tool] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    mcp_endpoint: str | None = None
    listed: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    provider_ids: Sequence[str] = ()
    check: Callable[[], Awaitable[str | None]] | None = None
    bind: Callable[[Actor], Sequence[Tool]] | None = None

    def acting_for(self, actor: Actor) -> ToolGroup:
        """The group for an actor's use."""
        return replace(self, tools=self.bind(actor)) if self.bind else self

    def shown_name(self, tool: Tool) -> str:
        """The name of one of its tools in lists."""
        return self.listed.get(tool.definition.name, tool.definition.name)

    def find(self, name: str) -> Tool | None:
        """The tool of this name, the model's or the list's."""
        found = (tool for tool in self.tools if name in (tool.definition.name, self.shown_name(tool)))
        return next(found, None)


@dataclass(frozen=True, slots=True)
class WithArgs:
    """A tool some of whose arguments are not the model's to choose."""

    tool: Tool
    args: Mapping[str, Any]

    @property
    def group(self) -> str:
        return self.tool.group

    @property
    def definition(self) -> ToolDef:
        return self.tool.definition

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.tool.call({**arguments, **self.args}, context)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A tool as OpenAI's API offers it: under a name of its own, of a ``kind`` (``web_search``,
    ``file_search``, ``code_interpreter``, ``mcp``) and, where there are several, of a ``label``. One
    that ``asks`` runs only what the client has approved."""

    tool: Tool
    kind: Literal["web_search", "file_search", "code_interpreter", "mcp"]
    label: str | None = None
    name: str | None = None
    description: str | None = None
    asks: bool = False

    @property
    def group(self) -> str:
        return self.tool.group

    @property
    def definition(self) -> ToolDef:
        given = {"name": self.name, "description": self.description}
        return self.tool.definition.model_copy(update={name: value for name, value in given.items() if value})

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.tool.call(arguments, context)


@dataclass(frozen=True, slots=True)
class Offered:
    """What a source of tools has, and how it describes it."""

    tools: Sequence[Labelled]
    shown: Sequence[dict[str, Any]]


class ToolSource(Protocol):
    """Tools that are known only once somebody was asked for them."""

    @property
    def label(self) -> str: ...

    async def offer(self) -> Offered:
        """Raises AgentsError."""
        ...


def failure(words: str) -> ToolResult:
    """The answer of a tool that could not do its work."""
    return ToolResult(content=words, error=words)
