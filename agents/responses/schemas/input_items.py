"""OpenAI's input items for the Responses and Conversations APIs, and their messages for a model.

An item is stored as received, with an id; `messages_of` converts it to messages of a turn. A result of a
server's tool becomes a call and its answer. Items that only a client or OpenAI itself can read (reasoning,
listings) are stored and not sent to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

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
from agents.responses.schemas.client_calls import FORMS, KIND_OF_CALL, KIND_OF_OUTPUT, qualified_name
from agents.responses.schemas.tools import RawTools


class _LosslessItem(Wire):
    """An item or part whose unknown fields are kept as received."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class TextPart(_LosslessItem):
    type: Literal["input_text", "output_text", "text", "summary_text", "reasoning_text"]
    text: str


class RefusalPart(_LosslessItem):
    type: Literal["refusal"]
    refusal: str


class ImagePart(_LosslessItem):
    """An image by URL (``data:`` too) or by the id of an uploaded file."""

    type: Literal["input_image"]
    image_url: str | None = None
    file_id: str | None = None
    detail: str | None = None


class FilePart(_LosslessItem):
    """A document: an uploaded file's id, base64 or a data URL, or a URL."""

    type: Literal["input_file"]
    file_id: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None


Part = Annotated[TextPart | RefusalPart | ImagePart | FilePart, Field(discriminator="type")]


class MessageItem(_LosslessItem):
    """A message; ``type`` may be left out."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[Part]
    id: str | None = None


class FunctionCallItem(_LosslessItem):
    type: Literal["function_call"]
    call_id: str = Field(min_length=1, max_length=200)
    name: str = Field(min_length=1, max_length=200)
    namespace: str | None = Field(default=None, max_length=200)
    arguments: str
    id: str | None = None

    @property
    def called(self) -> str:
        return self.call_id


class FunctionOutputItem(_LosslessItem):
    type: Literal["function_call_output"]
    call_id: str = Field(min_length=1, max_length=200)
    output: str | list[Part]
    id: str | None = None

    @property
    def called(self) -> str:
        return self.call_id


class _ItemOfCall(_LosslessItem):
    """An item of a call other than a function's; one may name the call by an item's id alone."""

    call_id: str | None = Field(default=None, max_length=200)
    id: str | None = None

    @property
    def called(self) -> str:
        """The id of the call that it makes or answers."""
        return self.call_id or self.id or ""

    @model_validator(mode="after")
    def _check_call(self) -> Self:
        if not self.called:
            raise ValueError("call_id: missing")
        return self


class ClientCallItem(_ItemOfCall):
    """A call of one of OpenAI's tools that the client runs."""

    type: Literal["custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"]


class ClientOutputItem(_ItemOfCall):
    """The client's output of such a call. That of a `local_shell_call` has no call's id in OpenAI's type; a search
    answers with ``tools``."""

    type: Literal[
        "custom_tool_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "apply_patch_call_output",
        "tool_search_output",
    ]
    tools: RawTools | None = None


class AdditionalToolsItem(_LosslessItem):
    """Tools that are offered beside those of the request."""

    type: Literal["additional_tools"]
    tools: RawTools
    id: str | None = None


class ApprovalItem(_LosslessItem):
    """The client's decision on a call that it had to approve."""

    type: Literal["mcp_approval_response"]
    approval_request_id: str
    approve: bool
    reason: str | None = None
    id: str | None = None


class ReferenceItem(_LosslessItem):
    """A reference to a stored item by its id."""

    type: Annotated[Literal["item_reference"], null_is("item_reference")] = "item_reference"
    id: str


OTHER_TYPES = (
    "reasoning",
    "file_search_call",
    "web_search_call",
    "code_interpreter_call",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "image_generation_call",
    "computer_call",
    "computer_call_output",
    "program",
    "program_output",
    "configuration_update",
)
"""Types of a response's output items that may be sent as input."""


class OtherItem(_LosslessItem):
    type: Literal[
        "reasoning",
        "file_search_call",
        "web_search_call",
        "code_interpreter_call",
        "mcp_list_tools",
        "mcp_call",
        "mcp_approval_request",
        "image_generation_call",
        "computer_call",
        "computer_call_output",
        "program",
        "program_output",
        "configuration_update",
    ]
    id: str | None = None


def _tag(value: Any) -> str | None:
    """Return the tag of an item's type; a message and a reference may come without a type."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if kind is not None and not isinstance(kind, str):
        return None
    if kind in OTHER_TYPES:
        return "other"
    if kind in KIND_OF_CALL:
        return "client_call"
    if kind in KIND_OF_OUTPUT:
        return "client_output"
    if kind is None and isinstance(value, dict):
        return "message" if "role" in value else "item_reference" if "id" in value else None
    return kind


InputItem = Annotated[
    Annotated[MessageItem, Tag("message")]
    | Annotated[FunctionCallItem, Tag("function_call")]
    | Annotated[FunctionOutputItem, Tag("function_call_output")]
    | Annotated[ClientCallItem, Tag("client_call")]
    | Annotated[ClientOutputItem, Tag("client_output")]
    | Annotated[AdditionalToolsItem, Tag("additional_tools")]
    | Annotated[ApprovalItem, Tag("mcp_approval_response")]
    | Annotated[ReferenceItem, Tag("item_reference")]
    | Annotated[OtherItem, Tag("other")],
    Discriminator(_tag, custom_error_type="item_type", custom_error_message="an item of this type is not known here"),
]
"""One item of a request's input."""


def items_of_input(value: str | Sequence[Any]) -> list[Any]:
    """Return the items of a request's ``input``: a text is one message of the user."""
    if isinstance(value, str):
        part = {"type": "input_text", "text": value}
        return [MessageItem.model_validate({"role": "user", "content": [part]})]
    return list(value)


def stored_json(item: Any, item_id: str) -> bytes:
    """Encode an item as it is stored and returned: with an id, a status if its type has one, and parts
    instead of a plain text."""
    fields = item.model_dump(exclude_none=True)
    if isinstance(item, MessageItem):
        if isinstance(item.content, str):
            kind = "output_text" if item.role == "assistant" else "input_text"
            fields["content"] = [{"type": kind, "text": item.content}]
        fields["content"] = [_with_lists(part) for part in fields["content"]]
    if isinstance(item, MessageItem | FunctionCallItem | FunctionOutputItem | ClientCallItem | ClientOutputItem):
        fields.setdefault("status", "completed")
    return msgspec.json.encode({"type": item.type, **fields, "id": item_id})


def _with_lists(part: dict[str, Any]) -> dict[str, Any]:
    return {"annotations": [], "logprobs": [], **part} if part["type"] == "output_text" else part


def messages_of(item: Any) -> list[TurnMessage]:
    """Return the messages for a model, none to two."""
    match item:
        case MessageItem():
            return [_message(item)]
        case FunctionCallItem():
            name = qualified_name(item.name, item.namespace)
            return [CompletionMessage(content="", tool_calls=[_call(item.call_id, name, item.arguments)])]
        case FunctionOutputItem():
            return [ToolResponseMessage(call_id=item.call_id, content=_content(item.output))]
        case ClientCallItem():
            return [_client_call(item)]
        case ClientOutputItem():
            form = FORMS[KIND_OF_OUTPUT[item.type]]
            return [ToolResponseMessage(call_id=item.called, content=form.result(item.model_dump()))]
        case OtherItem():
            return _call_and_result(item)
        case _:
            return []


def _message(item: MessageItem) -> TurnMessage:
    content = _content(item.content)
    match item.role:
        case "user":
            return UserMessage(content=content)
        case "assistant":
            return CompletionMessage(content=_text_of(content))
        case _:
            return SystemMessage(content=_text_of(content))


def _text_of(content: str | list[ContentItem]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(item.text for item in content if isinstance(item, TextItem))


def _content(content: str | Sequence[Any]) -> str | list[ContentItem]:
    """Convert parts to a message's content; a single text becomes that text. Files and images of uploaded
    files have been replaced before, or are left out."""
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
    parsed = decoded if isinstance(decoded, dict) else arguments
    return ToolCall(call_id=call_id, tool_name=name, arguments=parsed, arguments_json=arguments or "{}")


def _client_call(item: ClientCallItem) -> CompletionMessage:
    kind = KIND_OF_CALL[item.type]
    fields = _extra(item)
    name, namespace = fields.get("name"), fields.get("namespace")
    own = name if isinstance(name, str) and name else kind
    arguments = msgspec.json.encode(FORMS[kind].arguments(fields)).decode()
    call = _call(item.called, qualified_name(own, namespace if isinstance(namespace, str) else None), arguments)
    return CompletionMessage(content="", tool_calls=[call])


def _extra(item: _LosslessItem) -> dict[str, Any]:
    """Return the fields of an item that its type does not name."""
    return item.__pydantic_extra__ or {}


def _error_text(error: Any) -> str:
    """Return the text of an error, which is a text, or OpenAI's object with content or a message."""
    if not isinstance(error, dict):
        return str(error or "")
    content = error.get("content")
    parts = (
        [str(part.get("text", "")) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return "\n".join(parts) or str(error.get("message") or "")


def _call_and_result(item: OtherItem) -> list[TurnMessage]:
    """Return the messages of a finished call of a server's tool: the call and its result."""
    extra = _extra(item)
    name, output = str(item.type), ""
    arguments: Any = extra
    match item.type:
        case "mcp_call":
            name, arguments = str(extra.get("name") or name), extra.get("arguments") or "{}"
            output = str(extra.get("output") or _error_text(extra.get("error")))
        case "file_search_call":
            name, arguments = "knowledge_search", {"query": " ".join(map(str, _list(extra.get("queries"))))}
            results = _list(extra.get("results"))
            output = "\n\n".join(str(result.get("text", "")) for result in results if isinstance(result, dict))
        case _:
            return []
    raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    call_id = item.id or f"call_{name}"
    call = CompletionMessage(content="", tool_calls=[_call(call_id, name, raw)])
    return [call, ToolResponseMessage(call_id=call_id, content=output)]


def _list(value: Any) -> list[Any]:
    """Return the value of an unchecked field as a list; empty where it is none."""
    return value if isinstance(value, list) else []
