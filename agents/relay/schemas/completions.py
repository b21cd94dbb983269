"""OpenAI's chat completions, as far as this server reads them.

A request is relayed to its endpoint as received: only the fields that this server needs are checked.
The server's own models take an `OwnChatRequest`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from agents.base.schemas.wire import Wire, null_is
from agents.responses.schemas.objects import Metadata


class StreamOptions(Wire):
    include_usage: bool | None = None


class RelayedMessage(Wire):
    """A message; the endpoint reads its other fields."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    role: str = Field(min_length=1, max_length=100)


class CreateChatCompletion(Wire):
    """A chat request. ``store`` and ``metadata`` are for this server's log; everything else is relayed."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    model: str = Field(min_length=1, max_length=300)
    messages: list[RelayedMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = Field(default=None, max_length=16)


class ChatFunction(Wire):
    name: str = Field(min_length=1, max_length=200)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class ChatTool(Wire):
    type: Literal["function"]
    function: ChatFunction


class NamedFunction(Wire):
    name: str


class NamedTool(Wire):
    type: Literal["function"] = "function"
    function: NamedFunction


class NamedSchema(Wire):
    name: str | None = None
    schema_: Annotated[dict[str, Any], null_is({})] = Field(default={}, alias="schema")


class ChatResponseFormat(Wire):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: NamedSchema | None = None


class OwnChatRequest(Wire):
    """The fields of a request that the server's own models support."""

    tools: list[ChatTool] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedTool | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=0)
    max_completion_tokens: int | None = Field(default=None, ge=0)
    stop: str | list[str] | None = None
    response_format: ChatResponseFormat | None = None
    n: Literal[1] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=20)


class Choice(Wire):
    """One choice: a ``message`` in an answer, a ``delta`` in a chunk of a stream."""

    index: int
    message: dict[str, Any] | None = None
    delta: dict[str, Any] | None = None
    finish_reason: str | None = None
    logprobs: dict[str, Any] | None = None


class ChatCompletionObject(Wire):
    """A completion as the endpoint sent it, under an id of this server."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: dict[str, Any] | None = None


class ChatCompletionChunk(Wire):
    """One event of a streamed completion."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[Choice]
    usage: dict[str, Any] | None = None


class StoredCompletion(ChatCompletionObject):
    """A completion from the log; ``status`` is ours: completed, failed, cancelled. ``api`` is ``messages`` where it was
    asked for by Anthropic's, and ``left_out_tools`` are the types of tools that its model was not offered."""

    input_messages: list[dict[str, Any]]
    metadata: dict[str, str] | None = None
    status: str
    api: str | None = None
    left_out_tools: list[str] | None = None


class CompletionList(Wire):
    object: Literal["list"] = "list"
    data: list[StoredCompletion]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class UpdateChatCompletion(Wire):
    """A request to replace the metadata of a completion; null takes them away."""

    metadata: Metadata | None


class SentMessage(Wire):
    """A message of the request for a completion: as it was sent, under an id. Of one in parts, ``content`` is the
    text of these ``content_parts``."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    id: str
    role: str
    content: str | None = None
    refusal: str | None = None
    content_parts: list[dict[str, Any]] | None = None


class SentMessageList(Wire):
    object: Literal["list"] = "list"
    data: list[SentMessage]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class CompletionDeleted(Wire):
    id: str
    object: Literal["chat.completion.deleted"] = "chat.completion.deleted"
    deleted: bool = True
