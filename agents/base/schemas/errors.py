"""The body of every error of the API, as `agents.base.errors` makes it: OpenAI's ``error`` object, and the
message again as ``detail``, because older Llama Stack clients read that."""

from __future__ import annotations

from typing import Literal

from agents.base.schemas.wire import JSON, WireOutput


class ErrorObject(WireOutput):
    """``param`` names the field, ``detail`` has all that was wrong with a body. An error in a query has the
    ``position`` of the character where it stands, and what may have been meant."""

    message: str
    type: str
    code: str | None
    param: str | None
    detail: JSON
    position: int | None = None
    suggestion: str | None = None


class ErrorBody(WireOutput):
    """``request_id`` is in the log, too."""

    error: ErrorObject
    detail: str
    request_id: str


class MessagesErrorObject(WireOutput):
    """``details`` are there where a client can do something about it by itself."""

    type: str
    message: str
    details: JSON = None


class MessagesErrorBody(WireOutput):
    """An error as Anthropic's clients are told it."""

    type: Literal["error"] = "error"
    error: MessagesErrorObject
    request_id: str
