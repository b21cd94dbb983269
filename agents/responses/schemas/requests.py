"""OpenAI's Responses API: the request.

Every field of a request is either supported or refused by its name; fields without a meaning for this
server (``service_tier``, ``user``, …) are returned as received.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from agents.base.schemas.wire import Wire, null_is
from agents.responses.schemas.input_items import InputItem

NAME_PATTERN = r"^[a-zA-Z0-9_.:/-]+$"


class FunctionParam(Wire):
    """A function of the client. ``strict`` is passed to the endpoint."""

    type: Literal["function"]
    name: str = Field(min_length=1, max_length=200, pattern=NAME_PATTERN)
    description: str | None = None
    parameters: Annotated[dict[str, Any], null_is({})] = {}
    strict: bool | None = None


class SearchFilters(Wire):
    allowed_domains: list[str] | None = Field(default=None, max_length=100)


class WebSearchTool(Wire):
    type: Literal["web_search", "web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26"]
    search_context_size: Annotated[Literal["low", "medium", "high"], null_is("medium")] = "medium"
    user_location: dict[str, Any] | None = None
    filters: SearchFilters | None = None


class FileSearchRanking(Wire):
    ranker: str | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1), null_is(0.0)] = 0.0


class FileSearchTool(Wire):
    type: Literal["file_search"]
    vector_store_ids: list[str] = Field(min_length=1, max_length=50)
    filters: dict[str, Any] | None = None
    max_num_results: Annotated[int, Field(ge=1, le=50), null_is(10)] = 10
    ranking_options: FileSearchRanking | None = None


class ToolNames(Wire):
    tool_names: list[str] | None = None


class ApprovalFilter(Wire):
    always: ToolNames | None = None
    never: ToolNames | None = None


def _require_address(schema: dict[str, Any]) -> None:
    """Describe in the schema that ``server_url`` is required and ``connector_id`` must be null: clients send
    missing fields as null."""
    address = {"server_url": {"type": "string", "minLength": 1}, "connector_id": {"type": "null"}}
    schema["allOf"] = [{"required": ["server_url"], "properties": address}]


class McpToolParam(Wire):
    """An MCP server. ``headers`` and ``authorization`` are for this request only: they are never stored and
    never returned."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_require_address)

    type: Literal["mcp"]
    server_label: str = Field(min_length=1, max_length=64, pattern=r"^[a-zA-Z][a-zA-Z0-9_-]*$")
    server_url: str | None = None
    connector_id: str | None = None
    server_description: str | None = None
    headers: dict[str, str] | None = None
    authorization: str | None = None
    require_approval: Annotated[Literal["always", "never"] | ApprovalFilter, null_is("never")] = "never"
    allowed_tools: list[str] | ToolNames | None = None

    @model_validator(mode="after")
    def _check_address(self) -> McpToolParam:
        if self.connector_id is not None:
            raise ValueError("connector_id: there are no connectors here; give a server_url")
        if not self.server_url:
            raise ValueError("server_url: missing")
        if self.authorization and any(name.lower() == "authorization" for name in self.headers or ()):
            raise ValueError("authorization and an Authorization header in headers exclude each other")
        return self


class CodeInterpreterTool(Wire):
    type: Literal["code_interpreter"]
    container: str | dict[str, Any] | None = None


ResponseTool = Annotated[
    FunctionParam | WebSearchTool | FileSearchTool | McpToolParam | CodeInterpreterTool, Field(discriminator="type")
]


def _require_name(schema: dict[str, Any]) -> None:
    """Describe in the schema which name each type of tool requires."""
    schema["allOf"] = [
        {
            "if": {"properties": {"type": {"const": kind}}},
            "then": {"required": [name], "properties": {name: {"type": "string", "minLength": 1}}},
        }
        for kind, name in (("function", "name"), ("mcp", "server_label"))
    ]


class ChosenTool(Wire):
    """One tool that must be called: a function or a server's tool by its name, or a kind of tool."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: Literal[
        "function",
        "mcp",
        "file_search",
        "code_interpreter",
        "web_search",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "web_search_2025_08_26",
    ]
    name: str | None = None
    server_label: str | None = None

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_require_name)

    @model_validator(mode="after")
    def _check_name(self) -> ChosenTool:
        if self.type == "function" and not self.name:
            raise ValueError("name: missing")
        if self.type == "mcp" and not self.server_label:
            raise ValueError("server_label: missing")
        return self


class AllowedTools(Wire):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: list[ChosenTool] = Field(min_length=1)


ToolChoice = Literal["none", "auto", "required"] | Annotated[AllowedTools | ChosenTool, Field(discriminator="type")]


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
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
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
)
"""Allowed values of ``include``; responses always have all of these fields."""

UNSUPPORTED_FIELDS = (
    "prompt",
    "context_management",
    "moderation",
    "image",
    "access_programs",
    "background_options",
    "prompt_cache_options",
)
"""OpenAI's fields that change the meaning of a request and that this server does not support."""


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
    metadata: Annotated[dict[str, str], null_is({})] = {}
    tools: Annotated[list[ResponseTool], Field(max_length=256), null_is([])] = []
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
    prompt: Unsupported = None
    context_management: Unsupported = None
    moderation: Unsupported = None
    image: Unsupported = None
    access_programs: Unsupported = None
    background_options: Unsupported = None
    prompt_cache_options: Unsupported = None

    @field_validator("metadata")
    @classmethod
    def _check_metadata(cls, value: dict[str, str]) -> dict[str, str]:
        return checked_metadata(value)

    @field_validator("input")
    @classmethod
    def _check_input(cls, value: Any) -> Any:
        if value == []:
            raise ValueError("at least one item is needed")
        return value

    @model_validator(mode="after")
    def _check_combinations(self) -> CreateResponse:
        if self.previous_response_id is not None and self.conversation is not None:
            raise ValueError("previous_response_id and conversation exclude each other")
        if self.background and not self.store:
            raise ValueError("background needs store=true")
        return self

    @field_validator("top_logprobs")
    @classmethod
    def _check_logprobs(cls, value: int) -> int:
        if value:
            raise ValueError("logprobs are not supported here")
        return value

    @field_validator("include")
    @classmethod
    def _check_include(cls, value: list[str]) -> list[str]:
        for name in value:
            if name not in INCLUDES:
                raise ValueError(f"'{name[:100]}' cannot be included; there are {', '.join(INCLUDES)}")
        return value

    @property
    def conversation_id(self) -> str | None:
        return self.conversation.id if isinstance(self.conversation, ConversationRef) else self.conversation

    @property
    def guardrail_ids(self) -> list[str]:
        return [guardrail if isinstance(guardrail, str) else guardrail.type for guardrail in self.guardrails]


def checked_metadata(value: dict[str, str]) -> dict[str, str]:
    """Check metadata. Raises ValueError beyond OpenAI's limits: 16 pairs, keys of 64 and values of 512
    characters."""
    if len(value) > 16:
        raise ValueError("at most 16 pairs")
    for key, text in value.items():
        if len(key) > 64 or len(text) > 512:
            raise ValueError(f"'{key[:64]}': at most 64 characters in a key, 512 in a value")
    return value
