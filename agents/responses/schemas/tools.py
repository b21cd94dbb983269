"""OpenAI's Responses API: the tools of a request, and the choice among them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, TypeAdapter, model_validator

from agents.base.schemas.wire import Wire, null_is
from agents.responses.schemas.grammars import MAX_GRAMMAR, fault

NAME_PATTERN = r"^[a-zA-Z0-9_.:/-]+$"
MAX_TOOLS = 256
"""Tools of a request, and of a namespace."""


class _AnyTool(Wire):
    """A tool whose other fields are kept as received."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


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
    """An MCP server. ``server_label`` may be the name of a group of tools, as in ``mcp::orders``: Llama Stack's agents
    use that. ``headers`` and ``authorization`` are for this request only: they are never stored and never returned."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_require_address)

    type: Literal["mcp"]
    server_label: str = Field(min_length=1, max_length=64, pattern=r"^([a-zA-Z]+::)?[a-zA-Z][a-zA-Z0-9_-]*$")
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


# ------------------------------------------------------------------------------- run by the client


class CustomFormat(Wire):
    """What a custom tool takes. A grammar is told to the model; whether it keeps to it is for the client to see, unless
    its endpoint holds it to that."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = Field(default=None, max_length=MAX_GRAMMAR)

    @model_validator(mode="after")
    def _check_grammar(self) -> CustomFormat:
        if self.type == "text":
            return self
        if not self.syntax or not self.definition:
            raise ValueError("a grammar needs a syntax and a definition")
        reason = fault(self.syntax, self.definition)
        if reason:
            raise ValueError(f"definition: {reason}")
        return self


class CustomTool(Wire):
    """A tool of the client that takes a text."""

    type: Literal["custom"]
    name: str = Field(min_length=1, max_length=200, pattern=NAME_PATTERN)
    description: str | None = None
    format: Annotated[CustomFormat, null_is(CustomFormat(type="text"))] = CustomFormat(type="text")


class NamespaceTool(Wire):
    """Tools of the client whose names are unique among themselves."""

    type: Literal["namespace"]
    name: str = Field(min_length=1, max_length=200, pattern=NAME_PATTERN)
    description: str | None = None
    tools: list[Annotated[FunctionParam | CustomTool, Field(discriminator="type")]] = Field(max_length=MAX_TOOLS)


class ClientTool(_AnyTool):
    """A tool that says by its type what it is, and that the client runs. A `shell` may be one that OpenAI runs."""

    type: Literal["local_shell", "shell", "apply_patch"]
    environment: Any = None

    @property
    def is_hosted(self) -> bool:
        kind = self.environment.get("type", "local") if isinstance(self.environment, dict) else "local"
        return self.type == "shell" and kind != "local"


class ToolSearch(_AnyTool):
    """The search for tools that are not offered at once: here all are, unless the client searches."""

    type: Literal["tool_search"]
    execution: Annotated[Literal["server", "client"], null_is("server")] = "server"
    description: str | None = None
    parameters: dict[str, Any] | None = None


def _exclude_known(schema: dict[str, Any]) -> None:
    """Describe in the schema that the type is none of those known here."""
    schema["properties"]["type"]["not"] = {"enum": sorted(_TAGS)}


class OtherTool(_AnyTool):
    """A tool of a type that is not known here. With a name it is offered as a function of the client; without one, or
    where only OpenAI can run it, it is left out."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, json_schema_extra=_exclude_known)

    type: str = Field(min_length=1, max_length=200)
    name: str | None = Field(default=None, max_length=200, pattern=NAME_PATTERN)
    description: str | None = None
    parameters: dict[str, Any] | None = None


VENDOR_TOOLS = ("image_generation", "programmatic_tool_calling", "computer", "computer_use_preview")
"""Tools that need OpenAI's own machines or models: a model elsewhere writes no programs for its sandbox, and is sent no
screenshots."""


def _tag(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(kind, str):
        return None
    return _TAGS.get(kind, "other")


_TAGS = {
    kind: tag
    for tag, kinds in {
        "function": ("function",),
        "web_search": ("web_search", "web_search_preview", "web_search_preview_2025_03_11", "web_search_2025_08_26"),
        "file_search": ("file_search",),
        "mcp": ("mcp",),
        "code_interpreter": ("code_interpreter",),
        "custom": ("custom",),
        "namespace": ("namespace",),
        "client": ("local_shell", "shell", "apply_patch"),
        "tool_search": ("tool_search",),
    }.items()
    for kind in kinds
}

ResponseTool = Annotated[
    Annotated[FunctionParam, Tag("function")]
    | Annotated[WebSearchTool, Tag("web_search")]
    | Annotated[FileSearchTool, Tag("file_search")]
    | Annotated[McpToolParam, Tag("mcp")]
    | Annotated[CodeInterpreterTool, Tag("code_interpreter")]
    | Annotated[CustomTool, Tag("custom")]
    | Annotated[NamespaceTool, Tag("namespace")]
    | Annotated[ClientTool, Tag("client")]
    | Annotated[ToolSearch, Tag("tool_search")]
    | Annotated[OtherTool, Tag("other")],
    Discriminator(_tag, custom_error_type="tool_type", custom_error_message="a tool needs a type"),
]


_TOOLS: TypeAdapter[list[ResponseTool]] = TypeAdapter(list[ResponseTool], config=ConfigDict(defer_build=True))


def tools_of(value: Any) -> list[ResponseTool]:
    """Parse a list of tools that was checked before."""
    return _TOOLS.validate_python(value)


def _check_tools(value: list[Any]) -> list[Any]:
    """Check tools that come as items, which are stored as they came. Raises ValueError for secrets among them."""
    for tool in tools_of(value):
        if isinstance(tool, McpToolParam) and (tool.headers or tool.authorization):
            raise ValueError("items are stored: put a server with headers or authorization into the request's tools")
    return value


RawTools = Annotated[list[Any], Field(max_length=MAX_TOOLS), AfterValidator(_check_tools)]
"""Tools as received, which are known to be some."""


# ------------------------------------------------------------------------------------------ the choice


def _require_name(schema: dict[str, Any]) -> None:
    """Describe in the schema which name each type of tool requires."""
    schema["allOf"] = [
        {
            "if": {"properties": {"type": {"const": kind}}},
            "then": {"required": [name], "properties": {name: {"type": "string", "minLength": 1}}},
        }
        for kind, name in (("function", "name"), ("custom", "name"), ("mcp", "server_label"))
    ]


def _describe_choice(schema: dict[str, Any]) -> None:
    _require_name(schema)
    schema["properties"]["type"]["not"] = {"const": "allowed_tools"}


class ChosenTool(Wire):
    """One tool that must be called: a function, a custom or a server's tool by its name, or a kind of tool."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_describe_choice)

    type: str = Field(min_length=1, max_length=200)
    name: str | None = None
    namespace: str | None = None
    server_label: str | None = None

    @model_validator(mode="after")
    def _check_name(self) -> ChosenTool:
        if self.type in ("function", "custom") and not self.name:
            raise ValueError("name: missing")
        if self.type == "mcp" and not self.server_label:
            raise ValueError("server_label: missing")
        return self


class AllowedTools(Wire):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: list[ChosenTool] = Field(min_length=1)


def _choice_tag(value: Any) -> str | None:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return None if not isinstance(kind, str) else "allowed" if kind == "allowed_tools" else "one"


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[AllowedTools, Tag("allowed")]
    | Annotated[ChosenTool, Tag("one")],
    Discriminator(_choice_tag, custom_error_type="tool_choice", custom_error_message="a word or a tool is needed"),
]
