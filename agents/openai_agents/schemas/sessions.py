"""Sessions and their input events, in requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.openai_agents.schemas.agents import AgentFields, AgentTool, Effort, Metadata, Model, Params, ServiceTier

MAX_EVENTS = 16_384
MAX_CENTS = 100_000_000_000


class InputText(Params):
    type: Literal["input_text"]
    text: str


class InputImage(Params):
    type: Literal["input_image"]
    image_url: str


UserContent = Annotated[InputText | InputImage, Field(discriminator="type")]


class UserInput(Params):
    """A message of the user."""

    role: Literal["user"]
    content: list[UserContent] = Field(min_length=1)
    type: Literal["message"] | None = None


class EnvironmentParams(Params):
    """Where the agent's commands would run. This server has none: its agents have tools and no machine."""

    type: Literal["none"]


class PromptCacheParams(Params):
    ttl: Literal["30m", "12h"] | None = None


class SpendControlParams(Params):
    """What a session may spend in total, in cents; null for no limit."""

    limit: Annotated[int, Field(gt=0, le=MAX_CENTS)] | None


class SessionStreamOptions(Params):
    include_obfuscation: bool | None = None


class SessionSettings(Params):
    """What can be said of a session at its creation, and later."""

    metadata: Metadata | None = None
    prompt_cache_options: PromptCacheParams | None = None
    review: Literal["none", "auto_review"] | None = None
    spend_control: SpendControlParams | None = None


class CreateAgentSession(SessionSettings):
    """A new session, with the agent of ``agent_id``, or with ``agent`` alone, which needs a model then. Without an
    environment a session begins with a turn."""

    environment: EnvironmentParams
    input: Annotated[str, Field(min_length=1)] | Annotated[list[UserInput], Field(min_length=1)]
    agent: AgentFields | None = None
    agent_id: str | None = None
    stream: bool | None = None
    stream_options: SessionStreamOptions | None = None
    vault_ids: list[str] | None = None


class ReasoningUpdate(Params):
    effort: Effort | None = None


class SessionAgentUpdate(Params):
    model: Model | None = None
    reasoning: ReasoningUpdate | None = None
    service_tier: ServiceTier | None = None
    tools: list[AgentTool] | None = None


class UpdateAgentSession(SessionSettings):
    agent: SessionAgentUpdate | None = None


# ------------------------------------------------------------------------------------------ input events


class MessageEvent(Params):
    type: Literal["agent.session.input.message"]
    input: list[UserInput] = Field(min_length=1)


class CancelEvent(Params):
    type: Literal["agent.session.input.cancel"]


class ToolResultEvent(Params):
    type: Literal["agent.session.input.tool_result"]
    turn_id: str
    call_id: str
    success: bool
    output: str | list[UserContent] | None = None
    error: str | None = None


class McpDecision(Params):
    type: Literal["mcp_tool_call"]
    decision: Literal["approve", "deny", "cancel"]


class McpApprovalEvent(Params):
    type: Literal["agent.session.input.mcp_approval_request_result"]
    request_id: str
    response: McpDecision


class ComputerApprovalEvent(Params):
    type: Literal["agent.session.input.computer_use_approval_request_result"]
    request_id: str
    response: dict[str, Any]


InputEvent = Annotated[
    MessageEvent | CancelEvent | ToolResultEvent | McpApprovalEvent | ComputerApprovalEvent,
    Field(discriminator="type"),
]


class CreateEvents(Params):
    events: list[InputEvent] = Field(max_length=MAX_EVENTS)
