"""OpenAI's Responses API: requests about a context alone, to sum it up and to count its tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.base.schemas.wire import Wire, null_is
from agents.responses.schemas.objects import ItemObject
from agents.responses.schemas.requests import ConversationRef, Input, TextOptions
from agents.responses.schemas.tools import MAX_TOOLS, ResponseTool, ToolChoice


class CompactContext(Wire):
    """What is to be summed up: an input, a response with all before it, or both."""

    model: str = Field(min_length=1, max_length=300)
    input: Annotated[Input, null_is([])] = []
    instructions: str | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    service_tier: str | None = None


class CompactedContext(Wire):
    """A context that goes on from a summary: the messages of users, and the summary as an item that only this server
    can read."""

    id: str
    object: Literal["response.compaction"] = "response.compaction"
    created_at: int
    output: list[ItemObject]
    usage: dict[str, Any]


class CountInput(Wire):
    """A request whose tokens are to be counted. Without a model they are estimated."""

    model: str | None = Field(default=None, min_length=1, max_length=300)
    input: Annotated[Input, null_is([])] = []
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: str | ConversationRef | None = None
    tools: Annotated[list[ResponseTool], Field(max_length=MAX_TOOLS), null_is([])] = []
    tool_choice: Annotated[ToolChoice, null_is("auto")] = "auto"
    text: Annotated[TextOptions, null_is(TextOptions())] = TextOptions()


class InputTokens(Wire):
    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int
