"""The blocks of content in Anthropic's Messages API, as far as chat completions have words for them.

What only Anthropic can make or open (its files, PDFs, containers) is refused by its name. What its own servers said in
an earlier answer (a search that was made there, and what came of it) is a `ForeignBlock`: it is taken, and left out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from agents.base.schemas.wire import Wire, null_is

MAX_NAME = 200
"""Characters of the name of a tool, and of the id of a call."""
_Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]


class TextBlock(Wire):
    type: Literal["text"]
    text: str


# --------------------------------------------------------------------------------------------- images


class ImageBytes(Wire):
    """An image in base64."""

    type: Literal["base64"]
    media_type: str = Field(pattern=r"^image/[a-z0-9.+-]{1,50}$")
    data: str


class ImageAddress(Wire):
    """An image by its URL. An endpoint might read its own files for others than these."""

    type: Literal["url"]
    url: str = Field(pattern=r"^(https?://|data:image/)")


class ImageBlock(Wire):
    type: Literal["image"]
    source: Annotated[ImageBytes | ImageAddress, Field(discriminator="type")]


# ------------------------------------------------------------------------------------------ documents


def shape_of_content(value: Any) -> str | None:
    """Tell a text from a list of blocks."""
    return "text" if isinstance(value, str) else "blocks" if isinstance(value, list) else None


_BY_SHAPE = Discriminator(
    shape_of_content, custom_error_type="content", custom_error_message="a text or a list of blocks is needed"
)
_TextOrImage = Annotated[TextBlock | ImageBlock, Field(discriminator="type")]


class DocumentPlainText(Wire):
    type: Literal["text"]
    media_type: Annotated[Literal["text/plain"], null_is("text/plain")] = "text/plain"
    data: str


class DocumentContent(Wire):
    type: Literal["content"]
    content: Annotated[Annotated[str, Tag("text")] | Annotated[list[_TextOrImage], Tag("blocks")], _BY_SHAPE]


class DocumentBlock(Wire):
    """A document as text; other kinds of ``source`` are refused."""

    type: Literal["document"]
    source: Annotated[DocumentPlainText | DocumentContent, Field(discriminator="type")]
    title: str | None = None
    context: str | None = None


class SearchResultBlock(Wire):
    type: Literal["search_result"]
    source: str
    title: str
    content: list[TextBlock]


# ---------------------------------------------------------------------------------------------- tools


class ToolReferenceBlock(Wire):
    """A tool that a search for tools has come upon."""

    type: Literal["tool_reference"]
    tool_name: str


_ResultBlock = Annotated[
    TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReferenceBlock, Field(discriminator="type")
]


class ToolResultBlock(Wire):
    """What came of a call, by the id of its `ToolUseBlock`."""

    type: Literal["tool_result"]
    tool_use_id: _Name
    content: Annotated[
        Annotated[
            Annotated[str, Tag("text")] | Annotated[list[_ResultBlock], Tag("blocks")],
            _BY_SHAPE,
        ],
        null_is(""),
    ] = ""
    is_error: Annotated[bool, null_is(False)] = False


class ToolUseBlock(Wire):
    type: Literal["tool_use"]
    id: _Name
    name: _Name
    input: dict[str, Any]


# ------------------------------------------------------------------------------------------- thinking


class ThinkingBlock(Wire):
    """What a model thought. Any ``signature`` is taken, also that of another server."""

    type: Literal["thinking"]
    thinking: str
    signature: Annotated[str, null_is("")] = ""


class RedactedThinkingBlock(Wire):
    """What a model thought, as only its maker can read it."""

    type: Literal["redacted_thinking"]
    data: str


class ForeignBlock(Wire):
    """What Anthropic's servers did in the middle of an answer."""

    type: Literal[
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "advisor_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
    ]


# ------------------------------------------------------------------------------------------- messages

UserBlock = Annotated[
    TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolResultBlock | ForeignBlock,
    Field(discriminator="type"),
]
AssistantBlock = Annotated[
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ForeignBlock, Field(discriminator="type")
]


class UserMessageParam(Wire):
    role: Literal["user"]
    content: Annotated[Annotated[str, Tag("text")] | Annotated[list[UserBlock], Tag("blocks")], _BY_SHAPE]


class AssistantMessageParam(Wire):
    role: Literal["assistant"]
    content: Annotated[Annotated[str, Tag("text")] | Annotated[list[AssistantBlock], Tag("blocks")], _BY_SHAPE]


SystemContent = Annotated[Annotated[str, Tag("text")] | Annotated[list[TextBlock], Tag("blocks")], _BY_SHAPE]


class SystemMessageParam(Wire):
    """Instructions in the middle of a conversation."""

    role: Literal["system"]
    content: SystemContent


MessageParam = Annotated[UserMessageParam | AssistantMessageParam | SystemMessageParam, Field(discriminator="role")]
