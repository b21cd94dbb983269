"""Types of content, messages, tools and usage.

Shapes and field names are those of the Llama Stack Agents API as of v0.2.12 (June 2025), which
are also the shapes we store: a message is stored as it came.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from agents.base.schemas.wire import Wire, WireOutput, null_is


class TextItem(Wire):
    type: Literal["text"] = "text"
    text: str


class Url(Wire):
    uri: str


def _exactly_one(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [
        {"required": [field], "properties": {field: {"not": {"type": "null"}}, other: {"type": "null"}}}
        for field, other in (("url", "data"), ("data", "url"))
    ]


class ImageData(Wire):
    """Exactly one of a URL and base64 data (which carries no media type)."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_exactly_one)

    url: Url | None = None
    data: str | None = None

    @model_validator(mode="after")
    def _one_of(self) -> ImageData:
        if (self.url is None) == (self.data is None):
            raise ValueError("exactly one of url and data must be given")
        return self


class ImageItem(Wire):
    type: Literal["image"] = "image"
    image: ImageData


ContentItem = Annotated[TextItem | ImageItem, Field(discriminator="type")]
Content = str | ContentItem | list[ContentItem]
"""Interleaved content: a text, one item, or a list of items."""


class ToolCall(Wire):
    """A model's wish to run a tool. ``arguments`` is the decoded object, or the raw text where
    that is no JSON object; ``arguments_json`` the text as the model wrote it."""

    call_id: str
    tool_name: str
    arguments: dict[str, Any] | str
    arguments_json: str | None = None


class ToolResponse(Wire):
    call_id: str
    tool_name: str
    content: Content
    metadata: dict[str, Any] | None = None


class UserMessage(Wire):
    role: Literal["user"] = "user"
    content: Content
    context: Content | None = None


class SystemMessage(Wire):
    role: Literal["system"] = "system"
    content: Content


class SummaryMessage(Wire):
    """A model's summary of a conversation, which stands for what came before it."""

    role: Literal["summary"] = "summary"
    content: Content


class ToolResponseMessage(Wire):
    role: Literal["tool"] = "tool"
    call_id: str
    content: Content


StopReason = Literal["end_of_turn", "end_of_message", "out_of_tokens"]


class CompletionMessage(Wire):
    role: Literal["assistant"] = "assistant"
    content: Content
    stop_reason: StopReason = "end_of_turn"
    tool_calls: list[ToolCall] = []


InputMessage = Annotated[UserMessage | ToolResponseMessage, Field(discriminator="role")]
"""What the Agents API may start a turn with."""

TurnMessage = Annotated[
    UserMessage | ToolResponseMessage | SystemMessage | SummaryMessage | CompletionMessage, Field(discriminator="role")
]
"""What a turn may be started with: OpenAI's API also hands in what was said elsewhere."""


class SafetyViolation(Wire):
    violation_level: Literal["info", "warn", "error"]
    user_message: str | None = None
    metadata: dict[str, Any] = {}


class ToolParameter(Wire):
    name: str
    parameter_type: str
    description: Annotated[str, null_is("")] = ""
    required: Annotated[bool, null_is(True)] = True
    default: Any = None


class ToolDef(Wire):
    """A tool as the model sees it. ``input_schema`` (ours, and 0.3's) wins over ``parameters``."""

    name: str = Field(min_length=1, max_length=200)
    description: str | None = None
    parameters: list[ToolParameter] | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None
    metadata: dict[str, Any] | None = None


class GreedyStrategy(Wire):
    type: Literal["greedy"] = "greedy"


class TopPStrategy(Wire):
    type: Literal["top_p"] = "top_p"
    temperature: float | None = Field(default=None, gt=0.0)
    top_p: float | None = 0.95


class TopKStrategy(Wire):
    type: Literal["top_k"] = "top_k"
    top_k: int = Field(ge=1)


SamplingStrategy = Annotated[GreedyStrategy | TopPStrategy | TopKStrategy, Field(discriminator="type")]


class SamplingParams(Wire):
    """``max_tokens`` 0 means: not set."""

    strategy: Annotated[SamplingStrategy, null_is(GreedyStrategy())] = GreedyStrategy()
    max_tokens: int | None = Field(default=0, ge=0)
    repetition_penalty: float | None = 1.0
    stop: list[str] | None = None


class JsonSchemaFormat(Wire):
    type: Literal["json_schema"] = "json_schema"
    json_schema: dict[str, Any]


class GrammarFormat(Wire):
    type: Literal["grammar"] = "grammar"
    bnf: dict[str, Any]


ResponseFormat = Annotated[JsonSchemaFormat | GrammarFormat, Field(discriminator="type")]


class ToolConfig(Wire):
    """``tool_choice`` is ``auto``, ``required``, ``none`` or the name of one tool."""

    tool_choice: Annotated[str, null_is("auto")] = "auto"
    tool_prompt_format: Literal["json", "function_tag", "python_list"] | None = None
    system_message_behavior: Annotated[Literal["append", "replace"], null_is("append")] = "append"


MAX_TOKENS = 10**7
"""Tokens of one inference: as many as the largest context that is sold. More is a mistake or malice, and the sum of a
turn must fit into the 31 bits that PostgreSQL has for it."""


class Usage(WireOutput):
    """Tokens of one inference, or their sum. ``output`` includes ``reasoning``, ``input`` includes
    ``cached``: each token is counted once."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


def has_images(content: Content | None) -> bool:
    """Tell whether a content has an image."""
    return isinstance(content, ImageItem) or (isinstance(content, list) and any(map(has_images, content)))


def text_of(content: Content | None) -> str:
    """Return the text of a content, without images; items are joined by a line break."""
    match content:
        case None:
            return ""
        case str():
            return content
        case TextItem():
            return content.text
        case list():
            return "\n".join(text_of(item) for item in content if isinstance(item, TextItem))
        case _:
            return ""


Message = Annotated[UserMessage | SystemMessage | ToolResponseMessage | CompletionMessage, Field(discriminator="role")]
"""Any message of a conversation."""
