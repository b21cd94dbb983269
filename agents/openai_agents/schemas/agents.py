"""Agents in requests: saved ones, and those that are given with a session.

An undeclared field is refused, by its path. In an update a field that is left out stays as it is, and null restores
its default.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from agents.base.schemas.wire import Wire, exact
from agents.record.schemas.agents import HTTP_URL, LABEL

MAX_PAIRS = 16
ServiceTier = Literal["auto", "default", "flex", "priority", "fast", "ultrafast"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class Params(Wire):
    """Parameters of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: CoreSchema = exact(handler(source))
        return schema


def _few(pairs: dict[str, str]) -> dict[str, str]:
    if len(pairs) > MAX_PAIRS:
        raise ValueError(f"at most {MAX_PAIRS} pairs are allowed")
    return pairs


Metadata = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]],
    Field(max_length=MAX_PAIRS),
    AfterValidator(_few),
]
Model = Annotated[str, Field(min_length=1, max_length=300)]


class CompactionParams(Params):
    async_: bool | None = Field(default=None, alias="async")


class ExperimentalParams(Params):
    time_awareness: bool | None = None


class MultiAgentParams(Params):
    enabled: bool
    max_concurrent_subagents: int | None = Field(default=None, ge=1, le=1000)


class ReasoningParams(Params):
    effort: Effort | None = None
    summary: Literal["concise", "detailed", "auto"] | None = None


class PlainTextFormat(Params):
    type: Literal["text"]


class SchemaFormat(Params):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class TextParams(Params):
    format: Annotated[PlainTextFormat | SchemaFormat, Field(discriminator="type")] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class AgentFunction(Params):
    """A function of the client. ``defer_loading`` and ``async`` are kept, and change nothing here: every function is
    offered from the start."""

    type: Literal["function"]
    name: str = Field(min_length=1, max_length=200)
    description: str
    parameters: dict[str, Any]
    defer_loading: bool | None = None
    async_: bool | None = Field(default=None, alias="async")


class HttpTransport(Params):
    type: Literal["http"]
    server_url: str = Field(max_length=2000, pattern=HTTP_URL)
    authorization: str | None = Field(default=None, max_length=10_000)
    headers: dict[str, str] | None = None


class StdioTransport(Params):
    type: Literal["stdio"]
    command: str
    cwd: str
    args: list[str] | None = None
    env: dict[str, str] | None = None
    env_vars: list[str] | None = None


class AgentMcpServer(Params):
    type: Literal["mcp"]
    server_label: str = Field(max_length=64, pattern=LABEL)
    transport: Annotated[HttpTransport | StdioTransport, Field(discriminator="type")]
    allowed_tools: list[str] | None = None
    connection_origin: Literal["service", "environment"] | None = None
    credential_id: str | None = None
    request_metadata: dict[str, Any] | None = None
    required: bool | None = None


class SearchLocation(Params):
    city: str | None = None
    country: str | None = None
    region: str | None = None
    timezone: str | None = None


class AgentWebSearch(Params):
    type: Literal["web_search"]
    mode: Literal["disabled", "cached", "live"] | None = None
    context_size: Literal["low", "medium", "high"] | None = None
    allowed_domains: list[str] | None = None
    location: SearchLocation | None = None


class AgentToolSearch(Params):
    """Finds deferred functions. Here all of them are offered from the start, so that it has nothing to do."""

    type: Literal["tool_search"]


class ProgrammaticToolCalling(Params):
    type: Literal["programmatic_tool_calling"]
    enabled: bool | None = None


class ComputerUse(Params):
    type: Literal["computer_use"]
    include_screenshots: bool | None = None


class AutomationsTool(Params):
    type: Literal["automations"]


AgentTool = Annotated[
    AgentFunction
    | AgentMcpServer
    | AgentWebSearch
    | AgentToolSearch
    | ProgrammaticToolCalling
    | ComputerUse
    | AutomationsTool,
    Field(discriminator="type"),
]


class AgentFields(Params):
    """What can be said of an agent wherever one is given."""

    model: Model | None = None
    instructions: str | None = None
    compaction: CompactionParams | None = None
    experimental: ExperimentalParams | None = None
    multi_agent: MultiAgentParams | None = None
    reasoning: ReasoningParams | None = None
    service_tier: ServiceTier | None = None
    text: TextParams | None = None
    tools: list[AgentTool] | None = None


class UpdateSavedAgent(AgentFields):
    name: str | None = Field(default=None, max_length=128)
    metadata: Metadata | None = None


class CreateSavedAgent(UpdateSavedAgent):
    model: Model
