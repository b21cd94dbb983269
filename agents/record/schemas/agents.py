"""An agent's configuration, and an agent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from agents.base.schemas.wire import AgentKey, Timestamp, Wire, null_is
from agents.record.schemas.content import ResponseFormat, SamplingParams, ToolConfig, ToolDef


class ToolGroupWithArgs(Wire):
    name: str
    args: Annotated[dict[str, Any], null_is({})] = {}


AgentToolGroup = str | ToolGroupWithArgs


LABEL = r"^[a-zA-Z][a-zA-Z0-9_-]*$"
"""What a server of tools may be labelled with."""
HTTP_URL = r"^https?://[^\s/?#]+"
"""The beginning of a server's URL."""


class McpServer(Wire):
    """An MCP server that an agent names by its URL. ``sealed_headers`` go to it alone, and are encrypted for it: they
    are stored, and never shown."""

    type: Literal["mcp"] = "mcp"
    server_label: str = Field(max_length=64, pattern=LABEL)
    server_url: str = Field(max_length=2000, pattern=HTTP_URL)
    allowed_tools: list[str] | None = None
    required: bool = False
    request_metadata: dict[str, Any] = {}
    sealed_headers: str = ""


class WebSearchSettings(Wire):
    """The server's web search, with what the caller says of it."""

    type: Literal["web_search"] = "web_search"
    mode: Literal["disabled", "cached", "live"] = "live"
    context_size: Literal["low", "medium", "high"] = "medium"
    allowed_domains: list[str] | None = None
    location: dict[str, str | None] | None = None


HostedToolConfig = Annotated[McpServer | WebSearchSettings, Field(discriminator="type")]


class OpenAISettings(Wire):
    """What OpenAI's Agents API says of an agent and Llama Stack's has no words for. ``time_awareness`` and
    ``async_compaction`` are kept and change nothing; None is: not given."""

    metadata: dict[str, str] = {}
    effort: str | None = None
    summary: Literal["concise", "detailed", "auto"] | None = None
    verbosity: Literal["low", "medium", "high"] = "medium"
    service_tier: str = "auto"
    async_compaction: bool | None = None
    time_awareness: bool | None = None
    tools: list[HostedToolConfig] = []

    @property
    def options(self) -> dict[str, Any]:
        """Return the fields that go to the endpoint unchanged."""
        options = {
            "reasoning_effort": self.effort,
            "verbosity": None if self.verbosity == "medium" else self.verbosity,
            "service_tier": None if self.service_tier == "auto" else self.service_tier,
        }
        return {name: value for name, value in options.items() if value is not None}

    @property
    def shown(self) -> OpenAISettings:
        """Return the settings without what is never shown."""
        tools = [
            tool.model_copy(update={"sealed_headers": ""}) if isinstance(tool, McpServer) else tool
            for tool in self.tools
        ]
        return self.model_copy(update={"tools": tools})


class AgentConfig(Wire):
    """What an agent is. Only ``model`` and ``instructions`` must be given. ``resume_runs`` is ours: whether its turns
    go on when their process is lost, or end as interrupted; without it that is server default.
    ``openai`` is what only OpenAI's Agents API can say."""

    model: str = Field(min_length=1, max_length=300)
    instructions: str
    name: str | None = Field(default=None, max_length=300)
    enable_session_persistence: Annotated[bool, null_is(False)] = False
    response_format: ResponseFormat | None = None
    sampling_params: Annotated[SamplingParams, null_is(SamplingParams())] = SamplingParams()
    input_shields: Annotated[list[str], null_is([])] = []
    output_shields: Annotated[list[str], null_is([])] = []
    toolgroups: Annotated[list[AgentToolGroup], null_is([])] = []
    client_tools: Annotated[list[ToolDef], null_is([])] = []
    tool_choice: str | None = None
    tool_prompt_format: Literal["json", "function_tag", "python_list"] | None = None
    tool_config: ToolConfig | None = None
    max_infer_iters: Annotated[int, Field(ge=1, le=1000), null_is(10)] = 10
    resume_runs: bool | None = None
    openai: OpenAISettings | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_tool_config(cls, data: Any) -> Any:
        """The two deprecated fields fill a ``tool_config`` that leaves them open, and must agree with
        one that does not (upstream's rule)."""
        if not isinstance(data, dict):
            return data
        deprecated = {name: data[name] for name in ("tool_choice", "tool_prompt_format") if data.get(name)}
        config = data.get("tool_config")
        if config is None:
            config = {}
        if not isinstance(config, dict):
            return data
        for name, value in deprecated.items():
            if config.get(name) not in (None, value):
                raise ValueError(f"{name} is deprecated. Use {name} in tool_config instead.")
        return {**data, "tool_config": {**config, **deprecated}}


class AgentObject(Wire):
    agent_id: AgentKey
    agent_config: AgentConfig
    created_at: Timestamp


class ForkSettings(Wire):
    """What of an agent's settings is other than they say. None is: as it was."""

    model: str | None = Field(default=None, min_length=1, max_length=300)
    instructions: str | None = None
    sampling_params: SamplingParams | None = None

    @property
    def changed_values(self) -> dict[str, Any]:
        names = ("model", "instructions", "sampling_params")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}
