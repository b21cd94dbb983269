"""The Llama Stack Agents API, as of v0.2.12 (June 2025): requests, objects, stream chunks.

Field names and defaults are the upstream's; extra fields of ours are additions its clients
ignore (``status`` on a turn, ``metadata`` on a step).
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar, get_args

from pydantic import Field

from agents.base.schemas.wire import AgentKey, SessionKey, StepKey, Timestamp, TurnKey, Wire
from agents.record.schemas.agents import AgentConfig, AgentObject
from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    InputMessage,
    SafetyViolation,
    ToolCall,
    ToolResponse,
    Url,
)
from agents.record.schemas.deltas import StepDelta
from agents.record.schemas.events import TurnStatus

VERSION = "0.2.12"

T = TypeVar("T")


class CreateAgent(Wire):
    agent_config: AgentConfig


class AgentCreated(Wire):
    agent_id: AgentKey


class CreateSession(Wire):
    session_name: str = Field(max_length=500)


class SessionCreated(Wire):
    session_id: SessionKey


# --------------------------------------------------------------------------------- objects


class _Step(Wire):
    turn_id: TurnKey
    step_id: StepKey
    started_at: Timestamp | None = None
    completed_at: Timestamp | None = None


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


class TurnObject(Wire):
    """A turn. ``status`` is an addition of this server, which upstream's clients ignore."""

    turn_id: TurnKey
    session_id: SessionKey
    input_messages: list[InputMessage]
    steps: list[Step]
    output_message: CompletionMessage
    output_attachments: list[Attachment] = []
    started_at: Timestamp
    completed_at: Timestamp | None = None
    status: TurnStatus | None = None


class SessionObject(Wire):
    session_id: SessionKey
    session_name: str
    turns: list[TurnObject]
    started_at: Timestamp


class ObjectPage(Wire, Generic[T]):
    """A page of a list. ``url`` is the path of the list."""

    data: list[T]
    has_more: bool
    url: str | None = None


class AgentPage(ObjectPage[AgentObject]):
    """Agents, newest first."""


class SessionPage(ObjectPage[SessionObject]):
    """Sessions, newest first, without their turns."""


# ---------------------------------------------------------------------------------- stream chunks


StepTypeName = Literal["inference", "tool_execution", "shield_call", "memory_retrieval"]
STEP_TYPES = frozenset(get_args(StepTypeName))
"""Types of steps that the API shows; its clients refuse others."""


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
    turn: TurnObject


class TurnAwaitingInputPayload(Wire):
    event_type: Literal["turn_awaiting_input"] = "turn_awaiting_input"
    turn: TurnObject


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
