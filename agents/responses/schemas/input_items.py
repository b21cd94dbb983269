"""What the Responses and Conversations APIs take as input: OpenAI's items, and what of them a model
is told.

An item is kept as it came, with an id; `messages_of` says it in the words turns are made of.
Results of tools that a server ran are told as a call and its answer, what only a client or OpenAI
itself can read (reasoning, listings) is kept and not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from pydantic import ConfigDict, Discriminator, Field, Tag

from agents.base.schemas.wire import Wire, null_is
from agents.record.schemas.content import (
    CompletionMessage,
    ContentItem,
    ImageData,
    ImageItem,
    SystemMessage,
    TextItem,
    ToolCall,
    ToolResponseMessage,
    TurnMessage,
    Url,
    UserMessage,
)


class _Kept(Wire):
    """An item or part whose other fields are kept as they came."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class TextPart(_Kept):
    type: Literal["input_text", "output_text", "text", "summary_text", "reasoning_text"]
    text: str


class RefusalPart(_Kept):
    type: Literal["refusal"]
    refusal: str


class ImagePart(_Kept):
    """An image by URL (``data:`` too) or by the id of an uploaded file."""

    type: Literal["input_image"]
    image_url: str | None = None
    file_id: str | None = None
    detail: str | None = None


class FilePart(_Kept):
    """A document: an uploaded file's id, base64 or a data URL, or a URL."""

    type: Literal["input_file"]
    file_id: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None


Part = Annotated[TextPart | RefusalPart | ImagePart | FilePart, Field(discriminator="type")]


class MessageItem(_Kept):
    """A message; ``type`` may be left out."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Part]
    id: str | None = None


class FunctionCallItem(_Kept):
    type: Literal["function_call"]
    call_id: str = Field(min_length=1, max_length=200)
    name: str = Field(min_length=1, max_length=200)
    arguments: str
    id: str | None = None


class FunctionOutputItem(_Kept):
    type: Literal["function_call_output"]
    call_id: str = Field(min_length=1, max_length=200)
    output: str | list[Part]
    id: str | None = None


class ApprovalItem(_Kept):
    """The client's word on a call it was asked to approve."""

    type: Literal["mcp_approval_response"]
    approval_request_id: str
    approve: bool
    reason: str | None = None
    id: str | None = None


class ReferenceItem(_Kept):
    """An item that is stored here, by its id."""

    type: Annotated[Literal["item_reference"], null_is("item_reference")] = "item_reference"
    id: str


OTHERS = (
    "reasoning",
    "file_search_call",
    "web_search_call",
    "code_interpreter_call",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
)
"""Items of a response that may come back as input."""


class OtherItem(_Kept):
    type: Literal[
        "reasoning",
        "file_search_call",
        "web_search_call",
        "code_interpreter_call",
        "mcp_list_tools",
        "mcp_call",
        "mcp_approval_request",
    ]
    id: str | None = None


def _tag(value: Any) -> str | None:
    """Which item a value is: a message need not say so; a reference may come without a type."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if kind in OTHERS:
        return "other"
    if kind is None and isinstance(value, dict):
        return "message" if "role" in value else "item_reference" if "id" in value else None
    return kind if isinstance(kind, str) else None


InputItem = Annotated[
    Annotated[MessageItem, Tag("message")]
    | Annotated[FunctionCallItem, Tag("function_call")]
    | Annotated[FunctionOutputItem, Tag("function_call_output")]
    | Annotated[ApprovalItem, Tag("mcp_approval_response")]
    | Annotated[ReferenceItem, Tag("item_reference")]
    | Annotated[OtherItem, Tag("other")],
    Discriminator(_tag, custom_error_type="item_type", custom_error_message="an item of this type is not known here"),
]
"""One item of a request's input."""


def items_of_input(given: str | Sequence[Any]) -> list[Any]:
    """The items of a request's ``input``: a text is one message of the user."""
    if isinstance(given, str):
        part = {"type": "input_text", "text": given}
        return [MessageItem.model_validate({"role": "user", "content": [part]})]
    return list(given)


def wire(item: Any, item_id: str) -> bytes:
    """An item as it is kept and given back: with an id, a status where its type has one, and parts
    where it came with a plain text."""
    fields = item.model_dump(exclude_none=True)
    if isinstance(item, MessageItem):
        if isinstance(item.content, str):
            kind = "output_text" if item.role == "assistant" else "input_text"
            fields["content"] = [{"type": kind, "text": item.content}]
        fields["content"] = [_with_lists(part) for part in fields["content"]]
    if isinstance(item, MessageItem | FunctionCallItem | FunctionOutputItem):
        fields.setdefault("status", "completed")
    return msgspec.json.encode({"type": item.type, **fields, "id": item_id})


def _with_lists(part: dict[str, Any]) -> dict[str, Any]:
    return {"annotations": [], "logprobs": [], **part} if part["type"] == "output_text" else part


def messages_of(item: Any) -> list[TurnMessage]:
    """What a model is told of an item, none to two messages."""
    match item:
        case MessageItem():
            return [_message(item)]
        case FunctionCallItem():
            return [CompletionMessage(content="", tool_calls=[_call(item.call_id, item.name, item.arguments)])]
        case FunctionOutputItem():
            return [ToolResponseMessage(call_id=item.call_id, content=_content(item.output))]
        case OtherItem():
            return _told(item)
        case _:
            return []


def _message(item: MessageItem) -> TurnMessage:
    content = _content(item.content)
    match item.role:
        case "user":
            return UserMessage(content=content)
        case "assistant":
            return CompletionMessage(content=_words(content))
        case _:
            return SystemMessage(content=_words(content))


def _words(content: str | list[ContentItem]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(item.text for item in content if isinstance(item, TextItem))


def _content(content: str | Sequence[Any]) -> str | list[ContentItem]:
    """Parts as our content; a single text as that text. Files and images of uploaded files have been
    replaced before, or are left out."""
    if isinstance(content, str):
        return content
    items = [item for part in content if (item := _item(part))]
    if len(items) == 1 and isinstance(items[0], TextItem):
        return items[0].text
    return items or ""


def _item(part: Any) -> ContentItem | None:
    match part:
        case TextPart():
            return TextItem(text=part.text)
        case RefusalPart():
            return TextItem(text=part.refusal)
        case ImagePart(image_url=str(url)):
            return ImageItem(image=ImageData(url=Url(uri=url)))
        case _:
            return None


def _call(call_id: str, name: str, arguments: str) -> ToolCall:
    try:
        decoded = msgspec.json.decode(arguments or "{}")
    except (ValueError, RecursionError):
        decoded = arguments
    known = decoded if isinstance(decoded, dict) else arguments
    return ToolCall(call_id=call_id, tool_name=name, arguments=known, arguments_json=arguments or "{}")


def _error_words(error: Any) -> str:
    """An error as a text, or as OpenAI has it: with content, or with a message."""
    if not isinstance(error, dict):
        return str(error or "")
    content = error.get("content")
    parts = (
        [str(part.get("text", "")) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return "\n".join(parts) or str(error.get("message") or "")


def _told(item: OtherItem) -> list[TurnMessage]:
    """A finished call of a server's tool: the call, and what came of it."""
    extra = item.__pydantic_extra__ or {}
    name, output = str(item.type), ""
    arguments: Any = extra
    match item.type:
        case "mcp_call":
            name, arguments = str(extra.get("name") or name), extra.get("arguments") or "{}"
            output = str(extra.get("output") or _error_words(extra.get("error")))
        case "file_search_call":
            name, arguments = "knowledge_search", {"query": " ".join(map(str, _list(extra.get("queries"))))}
            results = _list(extra.get("results"))
            output = "\n\n".join(str(one.get("text", "")) for one in results if isinstance(one, dict))
        case _:
            return []
    raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    call_id = item.id or f"call_{name}"
    call = CompletionMessage(content="", tool_calls=[_call(call_id, name, raw)])
    return [call, ToolResponseMessage(call_id=call_id, content=output)]


def _list(value: Any) -> list[Any]:
    """A field that is kept as it came, read as the list it should be."""
    return value if isinstance(value, list) else []
