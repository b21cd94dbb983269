"""OpenAI's input items for the Responses and Conversations APIs. An item is stored as received, with an id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from agents.base.schemas.wire import Wire, null_is
from agents.responses.schemas.client_calls import KIND_OF_CALL, KIND_OF_OUTPUT
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
    detail: Annotated[str, null_is("auto")] = "auto"


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


class ApprovalRequestItem(_LosslessItem):
    """A call that the client has to approve. ``decision`` is its decision where that follows in the same input, and the
    call has not been made since."""

    type: Literal["mcp_approval_request"]
    name: str = Field(min_length=1, max_length=200)
    arguments: str = "{}"
    server_label: str = ""
    id: str | None = None
    decision: Annotated[Literal["approved", "refused"] | None, Field(exclude=True)] = None
    reason: Annotated[str | None, Field(exclude=True)] = None


class ApprovalItem(_LosslessItem):
    """The client's decision on a call that it had to approve."""

    type: Literal["mcp_approval_response"]
    approval_request_id: str
    approve: bool
    reason: str | None = None
    id: str | None = None


class CompactionItem(_LosslessItem):
    """A summary that stands for what came before it, encrypted by this server; ``summary`` is its text."""

    type: Literal["compaction"]
    encrypted_content: str = Field(min_length=1)
    id: str | None = None
    summary: Annotated[str, Field(exclude=True)] = ""


class CompactionTriggerItem(_LosslessItem):
    """Asks for such a summary of all before it, and for nothing else: the last item of an input."""

    type: Literal["compaction_trigger"]
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
    | Annotated[ApprovalRequestItem, Tag("mcp_approval_request")]
    | Annotated[ApprovalItem, Tag("mcp_approval_response")]
    | Annotated[CompactionItem, Tag("compaction")]
    | Annotated[CompactionTriggerItem, Tag("compaction_trigger")]
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
