"""Inference without an agent, in the format of Llama Stack 0.2.12; embeddings also in OpenAI's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.base.schemas.wire import Wire, null_is
from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    ContentItem,
    Message,
    ResponseFormat,
    SamplingParams,
    StopReason,
    ToolConfig,
)
from agents.record.schemas.deltas import StepDelta

_Sampling = Annotated[SamplingParams, null_is(SamplingParams())]
_Model = Annotated[str, Field(min_length=1, max_length=300)]


class ToolParameterDefinition(Wire):
    param_type: str
    description: str | None = None
    required: Annotated[bool, null_is(True)] = True
    default: Any = None


class ToolDefinition(Wire):
    tool_name: str = Field(min_length=1, max_length=200)
    description: str | None = None
    parameters: Annotated[dict[str, ToolParameterDefinition], null_is({})] = {}


class ChatCompletionRequest(Wire):
    """A chat request. ``tool_config`` takes precedence over ``tool_choice``, which is older. ``logprobs`` are
    not supported."""

    model_id: _Model
    messages: list[Message] = Field(min_length=1)
    sampling_params: _Sampling = SamplingParams()
    tools: Annotated[list[ToolDefinition], null_is([])] = []
    tool_choice: str | None = None
    tool_config: ToolConfig | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = False


class ChatCompletionAnswer(Wire):
    completion_message: CompletionMessage
    logprobs: None = None
    metrics: None = None


class ChatEvent(Wire):
    event_type: Literal["start", "progress", "complete"]
    delta: StepDelta
    stop_reason: StopReason | None = None
    logprobs: None = None


class ChatCompletionEvent(Wire):
    """One frame of a streamed chat completion."""

    event: ChatEvent


class CompletionRequest(Wire):
    """A text to continue; the model gets it as a message of the user."""

    model_id: _Model
    content: Content
    sampling_params: _Sampling = SamplingParams()
    response_format: ResponseFormat | None = None
    stream: bool | None = False


class CompletionAnswer(Wire):
    content: str
    stop_reason: StopReason
    logprobs: None = None
    metrics: None = None


class CompletionEvent(Wire):
    """One frame of a streamed completion."""

    delta: str
    stop_reason: StopReason | None = None
    logprobs: None = None


class EmbeddingsRequest(Wire):
    """Texts only: images have no embedding here."""

    model_id: _Model
    contents: list[str | ContentItem] = Field(min_length=1, max_length=2048)
    output_dimension: int | None = Field(default=None, ge=1)
    task_type: Literal["query", "document"] | None = None
    text_truncation: Literal["none", "start", "end"] | None = None


class EmbeddingsAnswer(Wire):
    embeddings: list[list[float]]


class CreateEmbeddings(Wire):
    """OpenAI's request for embeddings. Tokens (lists of numbers) are for endpoints that take them."""

    model: _Model
    input: (
        str
        | Annotated[list[str], Field(min_length=1, max_length=2048)]
        | Annotated[list[int], Field(min_length=1)]
        | Annotated[list[list[int]], Field(min_length=1, max_length=2048)]
    )
    encoding_format: Annotated[Literal["float", "base64"], null_is("float")] = "float"
    dimensions: int | None = Field(default=None, ge=1)


class Embedding(Wire):
    """One embedding: the vector, or its 32-bit floats in base64."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(Wire):
    prompt_tokens: int
    total_tokens: int


class EmbeddingList(Wire):
    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage
