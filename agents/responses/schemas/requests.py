"""OpenAI's Responses API: the request.

A field that this server does not know is stored with the request and left aside, and so is one that only tells
OpenAI how to run it (``service_tier``, ``prompt_cache_options``, …). One whose neglect would give another answer than
was asked for is refused by its name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from agents.base.schemas.wire import Wire, null_is
from agents.loop.schemas.turn_budget import TurnBudget
from agents.record.schemas.content import MAX_TOKENS
from agents.responses.schemas.input_items import CompactionTriggerItem, InputItem
from agents.responses.schemas.prompts import PromptReference
from agents.responses.schemas.tools import MAX_TOOLS, ResponseTool, ToolChoice


class TextFormat(Wire):
    """The format of the answer. ``schema`` is a JSON schema."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, serialize_by_alias=True)

    type: Literal["text", "json_object", "json_schema"] = "text"
    name: str | None = Field(default=None, max_length=64, pattern=r"^[a-zA-Z0-9_-]+$")
    description: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None

    @model_validator(mode="after")
    def _check_schema(self) -> TextFormat:
        if self.type == "json_schema" and (self.schema_ is None or not self.name):
            raise ValueError("a json_schema needs a name and a schema")
        return self


class TextOptions(Wire):
    format: Annotated[TextFormat, null_is(TextFormat())] = TextFormat()
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningOptions(Wire):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class ConversationRef(Wire):
    id: str


class Guardrail(Wire):
    type: str = Field(min_length=1)


class ResponseStreamOptions(Wire):
    include_obfuscation: bool | None = None


INCLUDES = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
"""Allowed values of ``include``; responses always have all of these fields but the last two."""

LOGPROBS = INCLUDES[-1]

COMPACT_THRESHOLD = 100_000
"""Tokens above which a conversation is summed up where a request leaves that to the server."""

UNSUPPORTED_FIELDS = ("moderation",)
"""OpenAI's fields that this server does not support, and that it must not leave aside: an answer would be another one
than was asked for."""


def _refuse(value: Any) -> None:
    if value:
        raise ValueError("this server does not support it")


Unsupported = Annotated[Any, BeforeValidator(_refuse)]


def _shape(value: Any) -> str | None:
    return "text" if isinstance(value, str) else "items" if isinstance(value, list) else None


Input = Annotated[
    Annotated[str, Tag("text")] | Annotated[list[InputItem], Tag("items")],
    Discriminator(_shape, custom_error_type="input", custom_error_message="a text or a list of items is needed"),
]


class ContextManagement(Wire):
    """When the conversation is summed up: before an inference of more tokens than ``compact_threshold``."""

    type: Literal["compaction"]
    compact_threshold: int | None = Field(default=None, ge=1, le=MAX_TOKENS)


class CreateResponse(Wire):
    """A request for a response. Only ``input`` and ``model`` are required."""

    input: Input
    model: str = Field(min_length=1, max_length=300)
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: str | ConversationRef | None = None
    store: Annotated[bool, null_is(True)] = True
    stream: Annotated[bool, null_is(False)] = False
    background: Annotated[bool, null_is(False)] = False
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    top_logprobs: Annotated[int, Field(ge=0, le=20), null_is(0)] = 0
    max_output_tokens: int | None = Field(default=None, ge=16)
    max_tool_calls: int | None = Field(default=None, ge=1)
    max_infer_iters: Annotated[int, Field(ge=1, le=1000), null_is(10)] = 10
    budget: TurnBudget | None = None
    metadata: Annotated[dict[str, str], null_is({})] = {}
    tools: Annotated[list[ResponseTool], Field(max_length=MAX_TOOLS), null_is([])] = []
    tool_choice: Annotated[ToolChoice, null_is("auto")] = "auto"
    parallel_tool_calls: Annotated[bool, null_is(True)] = True
    text: Annotated[TextOptions, null_is(TextOptions())] = TextOptions()
    reasoning: ReasoningOptions | None = None
    include: Annotated[list[str], null_is([])] = []
    truncation: Annotated[Literal["disabled", "auto"], null_is("disabled")] = "disabled"
    guardrails: Annotated[list[str | Guardrail], null_is([])] = []
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    stream_options: ResponseStreamOptions | None = None
    prompt: PromptReference | None = None
    context_management: Annotated[list[ContextManagement], Field(max_length=8), null_is([])] = []
    moderation: Unsupported = None
    image: dict[str, Any] | None = None
    access_programs: dict[str, Any] | None = None
    background_options: dict[str, Any] | None = None
    prompt_cache_options: dict[str, Any] | None = None

    @field_validator("metadata")
    @classmethod
    def _check_metadata(cls, value: dict[str, str]) -> dict[str, str]:
        return checked_metadata(value)

    @field_validator("input")
    @classmethod
    def _check_input(cls, value: Any) -> Any:
        if value == []:
            raise ValueError("at least one item is needed")
        return _with_trigger_last(value)

    @model_validator(mode="after")
    def _check_combinations(self) -> CreateResponse:
        if self.previous_response_id is not None and self.conversation is not None:
            raise ValueError("previous_response_id and conversation exclude each other")
        if self.background and not self.store:
            raise ValueError("background needs store=true")
        return self

    @field_validator("include")
    @classmethod
    def _check_include(cls, value: list[str]) -> list[str]:
        return checked_include(value)

    @property
    def wants_logprobs(self) -> bool:
        """Whether the probabilities of the answer's tokens are asked for."""
        return self.top_logprobs > 0 or LOGPROBS in self.include

    @property
    def sums_up_only(self) -> bool:
        """Whether a summary of the conversation is asked for, and nothing else."""
        return not isinstance(self.input, str) and any(isinstance(i, CompactionTriggerItem) for i in self.input[-1:])

    @property
    def compact_threshold(self) -> int | None:
        """The tokens above which the conversation is summed up; None where that is not asked for."""
        return next((rule.compact_threshold or COMPACT_THRESHOLD for rule in self.context_management), None)

    @property
    def conversation_id(self) -> str | None:
        return self.conversation.id if isinstance(self.conversation, ConversationRef) else self.conversation

    @property
    def guardrail_ids(self) -> list[str]:
        return [guardrail if isinstance(guardrail, str) else guardrail.type for guardrail in self.guardrails]


class WarmUpResponse(CreateResponse):
    """A request that is only remembered, for the next one to go on from: it may have no input yet."""

    input: Input = []

    @field_validator("input")
    @classmethod
    def _check_input(cls, value: Any) -> Any:
        return _with_trigger_last(value)


def _with_trigger_last(value: Any) -> Any:
    """Return an input. Raises ValueError for one that asks for a summary anywhere but at its end."""
    if not isinstance(value, str) and any(isinstance(item, CompactionTriggerItem) for item in value[:-1]):
        raise ValueError("a compaction_trigger is the last item")
    return value


def checked_metadata(value: dict[str, str]) -> dict[str, str]:
    """Check metadata. Raises ValueError beyond OpenAI's limits: 16 pairs, keys of 64 and values of 512
    characters."""
    if len(value) > 16:
        raise ValueError("at most 16 pairs")
    for key, text in value.items():
        if len(key) > 64 or len(text) > 512:
            raise ValueError(f"'{key[:64]}': at most 64 characters in a key, 512 in a value")
    return value


def checked_include(value: list[str]) -> list[str]:
    """Check what is to be included. Raises ValueError for what this server does not have."""
    for name in value:
        if name not in INCLUDES:
            raise ValueError(f"'{name[:100]}' cannot be included; there are {', '.join(INCLUDES)}")
    return value
