"""OpenAI's Responses API: the tools of a request, and the choice among them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from agents.base.schemas.wire import Wire, null_is

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
