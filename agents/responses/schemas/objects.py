"""Objects of the Responses and Conversations APIs. Their fields are listed only in part: clients have types of
their own for the many kinds of items."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from agents.base.schemas.wire import Wire, null_is
from agents.responses.schemas.input_items import InputItem
from agents.responses.schemas.requests import checked_metadata

ResponseStatus = Literal["queued", "in_progress", "completed", "failed", "cancelled", "incomplete"]


class Deleted(Wire):
    id: str
    object: str
    deleted: bool = True


class ItemObject(Wire):
    """An item: a message, call, result, search or reasoning; ``type`` says which."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    id: str
    type: str


class ItemList(Wire):
    object: Literal["list"] = "list"
    data: list[ItemObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class ResponseObject(Wire):
    """A response; fields repeated from its request are not listed here."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    id: str
    object: Literal["response"] = "response"
    created_at: int
    completed_at: int | None = None
    status: ResponseStatus
    model: str
    output: list[ItemObject]
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None


class ResponseEvent(Wire):
    """One frame of a response's stream; its other fields depend on ``type``."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    type: str
    sequence_number: int


class ResponseList(Wire):
    object: Literal["list"] = "list"
    data: list[ResponseObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


Metadata = Annotated[dict[str, str], AfterValidator(checked_metadata)]


class CreateConversation(Wire):
    items: Annotated[list[InputItem], Field(max_length=20), null_is([])] = []
    metadata: Annotated[Metadata, null_is({})] = {}


class UpdateConversation(Wire):
    """A request to replace the metadata of a conversation."""

    metadata: Metadata


class AddItems(Wire):
    items: list[InputItem] = Field(min_length=1, max_length=20)


class ConversationObject(Wire):
    id: str
    object: Literal["conversation"] = "conversation"
    created_at: int
    metadata: dict[str, Any]


class ConversationList(Wire):
    object: Literal["list"] = "list"
    data: list[ConversationObject]
    first_id: str | None
    last_id: str | None
    has_more: bool
