"""The tool protocol: tools that the server itself runs for a model.

A tool's result, and its failure, is an answer to the model and does not end the turn: for bad arguments
or a failure outside, a tool returns an error and does not raise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agents.base import redaction
from agents.base.access import Actor
from agents.loop.schemas.turn_budget import TurnBudget
from agents.record.schemas.content import Content, ContentItem, TextItem, ToolDef
from agents.record.schemas.events import ClientToolKind, ServerToolKind

if TYPE_CHECKING:
    from agents.loop.run import Run


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The run that a tool is called for; the model has no influence on it. Ids are public ones, empty where a
    tool is called outside a turn. ``provider_data`` is the caller's data for providers (keys, headers): for
    this run only, never stored and never shown. ``call_key`` is the same whenever this call is repeated, because its
    process was lost before the result was stored, and differs for every other call. ``budget`` is what is allowed to
    the turn and to those that it calls."""

    session_id: str
    turn_id: str
    actor: str
    provider_data: Mapping[str, Any] = field(default_factory=dict, repr=False)
    call_key: str = ""
    budget: TurnBudget | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call. ``error`` is None if the tool succeeded, else the error for model and log."""

    content: Content
    error: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def redact_result(result: ToolResult, secrets: Iterable[str]) -> ToolResult:
    """Redact this server's secrets and ``secrets`` in a result."""
    secret_values = tuple(secrets)
    return ToolResult(
        content=_redacted_content(result.content, secret_values),
        error=None if result.error is None else redaction.redact_error(result.error, secret_values),
        metadata=redaction.redact_json(result.metadata, secret_values),
    )


def _redacted_content(content: Content, secrets: Sequence[str]) -> Content:
    match content:
        case str():
            return redaction.redact(content, secrets)
        case list():
            return [item.model_copy(update=_redacted_text(item, secrets)) for item in content]
        case _:
            return content.model_copy(update=_redacted_text(content, secrets))


def _redacted_text(item: ContentItem, secrets: Sequence[str]) -> dict[str, Any]:
    return {"text": redaction.redact(item.text, secrets)} if isinstance(item, TextItem) else {}


Repeat = Literal["read", "idempotent", "write"]
"""What a second call with the same arguments does: nothing more (``read``), nothing more if it has the same
`ToolContext.call_key` (``idempotent``), or everything once more (``write``)."""


InDoubtRule = Literal["wait", "done", "not_done"]
"""What is done about a call that may not be repeated, when its process was lost: somebody decides (``wait``), it counts
as made (``done``), or it is made again (``not_done``)."""


class Tool(Protocol):
    """One tool of a group. One whose calls may not be repeated may have a rule for a call in doubt: ``in_doubt``, an
    `InDoubtRule`. One that takes longer than others may say how long it may: ``timeout_s``. One after which another
    agent goes on with the turn has a ``hand_over``, a `HandsOver`."""

    @property
    def group(self) -> str: ...

    @property
    def definition(self) -> ToolDef: ...

    @property
    def repeat(self) -> Repeat: ...

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult: ...


def rule_in_doubt(tool: Tool) -> InDoubtRule:
    """Return what is done about a call of a tool that is in doubt; where the tool has no rule, somebody decides."""
    rule: InDoubtRule = getattr(tool, "in_doubt", "wait")
    return rule


def timeout_of(tool: Tool, usual_s: float) -> float:
    """Return how long a tool may take."""
    seconds: float = getattr(tool, "timeout_s", usual_s)
    return seconds


HandsOver = Callable[["Run", int, int], Awaitable["Run"]]
"""Returns a run as another agent goes on with it, given the step of the call, and the number of the last step before
that agent's first. Raises AgentsError."""


def hand_over_of(tool: Tool | None) -> HandsOver | None:
    """Return what hands a turn over to another agent; None for a tool that does not."""
    hands_over: HandsOver | None = getattr(tool, "hand_over", None)
    return hands_over


@dataclass(frozen=True, slots=True)
class ServerToolGroup:
    """A named group of tools. ``args`` override a model's arguments. ``list_names`` are other names of tools in
    lists, by the name for the model. ``note`` describes the error of a group whose tools are those of its last
    successful listing; ``provider_ids`` are other names of its provider; ``check`` returns why the group cannot
    work, None if it can. ``bind`` returns the tools for an actor, where they read the actor's data."""

    name: str
    provider_id: str = "builtin"
    tools: Sequence[Tool] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    mcp_endpoint: str | None = None
    list_names: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    provider_ids: Sequence[str] = ()
    check: Callable[[], Awaitable[str | None]] | None = None
    bind: Callable[[Actor], Sequence[Tool]] | None = None

    def acting_for(self, actor: Actor) -> ServerToolGroup:
        """Return the group with its tools bound to an actor."""
        return replace(self, tools=self.bind(actor)) if self.bind else self

    def list_name(self, tool: Tool) -> str:
        """Return the name of one of the tools in lists."""
        return self.list_names.get(tool.definition.name, tool.definition.name)

    def find(self, name: str) -> Tool | None:
        """Find a tool by its name for the model or in lists."""
        matches = (tool for tool in self.tools if name in (tool.definition.name, self.list_name(tool)))
        return next(matches, None)


@dataclass(frozen=True, slots=True)
class ToolWithArgs:
    """A tool with fixed arguments, which override the model's."""

    tool: Tool
    args: Mapping[str, Any]

    @property
    def group(self) -> str:
        return self.tool.group

    @property
    def definition(self) -> ToolDef:
        return self.tool.definition

    @property
    def repeat(self) -> Repeat:
        return self.tool.repeat

    @property
    def in_doubt(self) -> InDoubtRule:
        return rule_in_doubt(self.tool)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.tool.call({**arguments, **self.args}, context)


@dataclass(frozen=True, slots=True)
class HostedTool:
    """A hosted tool of OpenAI's API: with a name of its own, a ``kind`` (``web_search``, ``file_search``,
    ``code_interpreter``, ``mcp``) and a ``label`` where there may be several. With ``needs_approval`` the client
    must approve each call."""

    tool: Tool
    kind: ServerToolKind
    label: str | None = None
    name: str | None = None
    description: str | None = None
    needs_approval: bool = False

    @property
    def group(self) -> str:
        return self.tool.group

    @property
    def definition(self) -> ToolDef:
        changes = {"name": self.name, "description": self.description}
        return self.tool.definition.model_copy(update={name: value for name, value in changes.items() if value})

    @property
    def repeat(self) -> Repeat:
        return self.tool.repeat

    @property
    def in_doubt(self) -> InDoubtRule:
        return rule_in_doubt(self.tool)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return await self.tool.call(arguments, context)


@dataclass(frozen=True, slots=True)
class Grammar:
    """A rule for a text."""

    syntax: Literal["lark", "regex"]
    definition: str


@dataclass(frozen=True, slots=True)
class ClientForm:
    """How the client knows a tool of its own that a model is offered as a function: by the ``kind`` of tool that it is
    in OpenAI's API (None: a function), the ``namespace`` that it is in, and the ``grammar`` of its text, if any."""

    kind: ClientToolKind | None = None
    namespace: str | None = None
    grammar: Grammar | None = None


@dataclass(frozen=True, slots=True)
class ListedTools:
    """The tools of a source, and the descriptions that it sent."""

    tools: Sequence[HostedTool]
    descriptions: Sequence[dict[str, Any]]


class ToolSource(Protocol):
    """A server of tools, which are known only once it has listed them."""

    @property
    def label(self) -> str: ...

    async def list_tools(self) -> ListedTools:
        """List the tools. Raises AgentsError."""
        ...


def failure(message: str) -> ToolResult:
    """Return the result of a tool that failed."""
    return ToolResult(content=message, error=message)
