"""Anthropic's Messages API: requests as far as this server reads them, and its answers. Fields it does not know, and
those that change no answer here (``metadata``, ``cache_control``, ``service_tier``, …), are left aside."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag

from agents.base.schemas.wire import Wire, null_is
from agents.record.schemas.content import MAX_TOKENS
from agents.relay.schemas.message_blocks import MAX_NAME, MessageParam, SystemContent

MAX_TOOLS, MAX_STOPS = 256, 100
_CUSTOM = "custom"


# ---------------------------------------------------------------------------------------------- tools


class MessageTool(Wire):
    """A tool that the client runs."""

    type: Literal["custom"] | None = None
    name: str = Field(min_length=1, max_length=MAX_NAME)
    description: str | None = None
    input_schema: dict[str, Any]
    strict: bool | None = None


def _exclude_custom(schema: dict[str, Any]) -> None:
    schema["properties"]["type"]["not"] = {"const": _CUSTOM}


class VendorTool(Wire):
    """A tool that Anthropic has defined: by its type, such as ``bash_20250124`` or ``web_search_20250305``."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_exclude_custom)

    type: str = Field(min_length=1, max_length=MAX_NAME)
    name: str | None = Field(default=None, max_length=MAX_NAME)


def _kind_of_tool(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if kind is None or kind == _CUSTOM:
        return _CUSTOM
    return "vendor" if isinstance(kind, str) else None


OfferedTool = Annotated[
    Annotated[MessageTool, Tag(_CUSTOM)] | Annotated[VendorTool, Tag("vendor")],
    Discriminator(_kind_of_tool, custom_error_type="tool_type", custom_error_message="a tool's type is a text"),
]


class ToolMode(Wire):
    type: Literal["auto", "any", "none"]
    disable_parallel_tool_use: Annotated[bool, null_is(False)] = False


class ForcedTool(Wire):
    type: Literal["tool"]
    name: str = Field(min_length=1, max_length=MAX_NAME)
    disable_parallel_tool_use: Annotated[bool, null_is(False)] = False


MessageToolChoice = Annotated[ToolMode | ForcedTool, Field(discriminator="type")]


# ------------------------------------------------------------------------------------------- requests


class ThinkingConfig(Wire):
    """Whether a client wants to see what the model thinks: it does unless ``type`` is ``disabled``. How much a model
    thinks, ``output_config`` says."""

    type: str = Field(min_length=1, max_length=100)
    display: str | None = Field(default=None, max_length=100)


class OutputFormat(Wire):
    type: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")


class OutputConfig(Wire):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class MessageModel(Wire):
    """What this server reads of any request: the model, which says whether the rest is for another one to read."""

    model: str = Field(min_length=1, max_length=300)
    stream: bool | None = None


class CountMessageTokens(Wire):
    """A request to count the tokens of messages; what else creating a message takes is left aside."""

    model: str = Field(min_length=1, max_length=300)
    messages: list[MessageParam] = Field(min_length=1)
    system: SystemContent | None = None
    tools: Annotated[list[OfferedTool], Field(max_length=MAX_TOOLS), null_is([])] = []
    tool_choice: MessageToolChoice | None = None


class CreateMessage(CountMessageTokens):
    """A request for a message."""

    max_tokens: int = Field(ge=1, le=MAX_TOKENS)
    stream: bool | None = None
    stop_sequences: Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=MAX_STOPS), null_is([])] = []
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
    thread: dict[str, Any] | None = Field(default=None, description="Refused: clients then send all of a conversation.")

    @property
    def answer_format(self) -> OutputFormat | None:
        """The format of the answer, which older clients ask for in a field of its own."""
        return self.output_config.format if self.output_config and self.output_config.format else self.output_format


# -------------------------------------------------------------------------------------------- answers

MessageStop = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal"]


class MessageUsage(Wire):
    """Token counts; ``input_tokens`` are those that were not read from a cache."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


class MessageObject(Wire):
    """A message of the model: blocks of the types ``text``, ``thinking`` and ``tool_use``. An agent's has the ids of
    its turn and session."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[dict[str, Any]]
    stop_reason: MessageStop | None
    stop_sequence: str | None
    usage: MessageUsage
    turn_id: str | None = None
    session_id: str | None = None


class MessageStreamEvent(Wire):
    """An event of a streamed message. Its frame has the type as its name, too."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    type: Literal[
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    ]


class MessageTokenCount(Wire):
    input_tokens: int
