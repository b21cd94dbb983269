"""The Llama Stack Agents API, as of v0.2.12 (June 2025): requests, objects, stream chunks.

Field names and defaults are the upstream's; extra fields of ours are additions its clients
ignore (``status`` on a turn, ``metadata`` on a step).
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from agents.base.schemas.wire import AgentKey, Moment, SessionKey, StepKey, TurnKey, Wire, null_is
from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    InputMessage,
    ResponseFormat,
    SafetyViolation,
    SamplingParams,
    ToolCall,
    ToolConfig,
    ToolDef,
    ToolResponse,
    Url,
)
from agents.record.schemas.events import TurnStatus

VERSION = "0.2.12"

T = TypeVar("T")


class ToolGroupWithArgs(Wire):
    name: str
    args: Annotated[dict[str, Any], null_is({})] = {}


AgentToolGroup = str | ToolGroupWithArgs


class AgentConfig(Wire):
    """What an agent is. Only ``model`` and ``instructions`` must be given."""

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

    @model_validator(mode="before")
    @classmethod
    def _one_tool_config(cls, data: Any) -> Any:
        """The two deprecated fields fill a ``tool_config`` that leaves them open, and must agree with
        one that does not (upstream's rule)."""
        if not isinstance(data, dict):
            return data
        given = {name: data[name] for name in ("tool_choice", "tool_prompt_format") if data.get(name)}
        config = data.get("tool_config")
        if config is None:
            config = {}
        if not isinstance(config, dict):
            return data
        for name, value in given.items():
            if config.get(name) not in (None, value):
                raise ValueError(f"{name} is deprecated. Use {name} in tool_config instead.")
        return {**data, "tool_config": {**config, **given}}


class CreateAgent(Wire):
    agent_config: AgentConfig


class AgentCreated(Wire):
    agent_id: AgentKey


class AgentObject(Wire):
    agent_id: AgentKey
    agent_config: AgentConfig
    created_at: Moment


class CreateSession(Wire):
    session_name: str = Field(max_length=500)


class SessionCreated(Wire):
    session_id: SessionKey


class Document(Wire):
    """Text for the context of one turn, given here or at a URL."""

    content: Content | Url
    mime_type: Annotated[str, null_is("text/plain")] = "text/plain"


class CreateTurn(Wire):
    messages: list[InputMessage]
    stream: bool | None = False
    documents: list[Document] | None = None
    toolgroups: list[AgentToolGroup] | None = None
    tool_config: ToolConfig | None = None


class ResumeTurn(Wire):
    tool_responses: list[ToolResponse]
    stream: bool | None = False

    @field_validator("tool_responses", mode="before")
    @classmethod
    def _older_shape(cls, value: Any) -> Any:
        """v0.2.0 clients send ``{call_id: response}``."""
        return list(value.values()) if isinstance(value, dict) else value


# --------------------------------------------------------------------------------- what we send


class _Step(Wire):
    turn_id: TurnKey
    step_id: StepKey
    started_at: Moment | None = None
    completed_at: Moment | None = None


class InferenceStep(_Step):
    step_type: Literal["inference"] = "inference"
    model_response: CompletionMessage


class ToolExecutionStep(_Step):
    step_type: Literal["tool_execution"] = "tool_execution"
    tool_calls: list[ToolCall]
    tool_responses: list[ToolResponse]


class ShieldCallStep(_Step):
    step_type: Literal["shield_call"] = "shield_call"
    violation: SafetyViolation | None = None


class MemoryRetrievalStep(_Step):
    step_type: Literal["memory_retrieval"] = "memory_retrieval"
    vector_db_ids: str
    inserted_context: Content


Step = Annotated[
    InferenceStep | ToolExecutionStep | ShieldCallStep | MemoryRetrievalStep,
    Field(discriminator="step_type"),
]


class StepEnvelope(Wire):
    step: Step


class Attachment(Wire):
    content: Content | Url
    mime_type: str


class Turn(Wire):
    """``status`` is ours; upstream's clients ignore it."""

    turn_id: TurnKey
    session_id: SessionKey
    input_messages: list[InputMessage]
    steps: list[Step]
    output_message: CompletionMessage
    output_attachments: list[Attachment] = []
    started_at: Moment
    completed_at: Moment | None = None
    status: TurnStatus | None = None


class Session(Wire):
    session_id: SessionKey
    session_name: str
    turns: list[Turn]
    started_at: Moment


class Page(Wire, Generic[T]):
    """``url`` is the list's own path."""

    data: list[T]
    has_more: bool
    url: str | None = None


class AgentPage(Page[AgentObject]):
    """Agents, newest first."""


class SessionPage(Page[Session]):
    """Sessions, newest first, without their turns."""


class DataList(Wire, Generic[T]):
    data: list[T]


# ---------------------------------------------------------------------------------- stream chunks


class TextDelta(Wire):
    type: Literal["text"] = "text"
    text: str


class ToolCallDelta(Wire):
    type: Literal["tool_call"] = "tool_call"
    tool_call: str | ToolCall
    parse_status: Literal["started", "in_progress", "failed", "succeeded"]


StepDelta = Annotated[TextDelta | ToolCallDelta, Field(discriminator="type")]
StepTypeName = Literal["inference", "tool_execution", "shield_call", "memory_retrieval"]


class TurnStartPayload(Wire):
    event_type: Literal["turn_start"] = "turn_start"
    turn_id: TurnKey


class StepStartPayload(Wire):
    event_type: Literal["step_start"] = "step_start"
    step_type: StepTypeName
    step_id: StepKey
    metadata: dict[str, Any] = {}


class StepProgressPayload(Wire):
    event_type: Literal["step_progress"] = "step_progress"
    step_type: StepTypeName
    step_id: StepKey
    delta: StepDelta


class StepCompletePayload(Wire):
    event_type: Literal["step_complete"] = "step_complete"
    step_type: StepTypeName
    step_id: StepKey
    step_details: Step


class TurnCompletePayload(Wire):
    event_type: Literal["turn_complete"] = "turn_complete"
    turn: Turn


class TurnAwaitingInputPayload(Wire):
    event_type: Literal["turn_awaiting_input"] = "turn_awaiting_input"
    turn: Turn


Payload = Annotated[
    TurnStartPayload
    | StepStartPayload
    | StepProgressPayload
    | StepCompletePayload
    | TurnCompletePayload
    | TurnAwaitingInputPayload,
    Field(discriminator="event_type"),
]


class ChunkEvent(Wire):
    payload: Payload


class TurnChunk(Wire):
    """One frame of a turn's stream."""

    event: ChunkEvent
