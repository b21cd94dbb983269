"""Read the stored JSON of steps, messages and documents for display.

These types are more lenient than those that write it: a record of an external agent, or of an older version,
is shown as far as it can be read. Values stay the JSON text that is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
from django.utils.translation import gettext as _

from agents.record.schemas.turns import StepSnapshot

T = TypeVar("T", bound=msgspec.Struct)


class Picture(msgspec.Struct):
    """An image of a content: a URL, or base64 data; ``pointer`` is its JSON pointer in the step's detail."""

    url: str = ""
    data: str = ""
    pointer: str = ""


class StoredCall(msgspec.Struct):
    call_id: str
    tool_name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    arguments_json: str | None = None

    @property
    def arguments_text(self) -> str:
        """The arguments as the model wrote them."""
        if self.arguments_json is not None:
            return self.arguments_json
        raw = json_text(self.arguments)
        return str(msgspec.json.decode(self.arguments)) if raw.startswith('"') else raw


class StoredAnswer(msgspec.Struct):
    call_id: str = ""
    tool_name: str = ""
    content: Any = ""
    metadata: Any = None


class StoredMessage(msgspec.Struct):
    content: Any = ""
    tool_calls: list[StoredCall] = []
    context: Any = None
    role: str = ""
    call_id: str = ""


class StoredInference(msgspec.Struct):
    model_response: StoredMessage = msgspec.field(default_factory=StoredMessage)
    model: str = ""
    finish_reason: str | None = None
    reasoning: str = ""
    compaction: str | None = None


class StoredToolRun(msgspec.Struct):
    """A tool execution. ``kind`` and ``label``: which of OpenAI's tools it is, and of which server. ``approval`` is
    set if the step only asks whether the call may be made, ``asked`` if an earlier step asked; ``answered_by`` is who
    answered, where that is known."""

    tool_calls: list[StoredCall] = []
    tool_responses: list[StoredAnswer] = []
    kind: str | None = None
    label: str | None = None
    approval: str | None = None
    asked: str | None = None
    answered_by: str | None = None


class StoredViolation(msgspec.Struct):
    violation_level: Literal["info", "warn", "error"] = "error"
    user_message: str | None = None
    metadata: dict[str, Any] = {}


class StoredShieldCall(msgspec.Struct):
    touchpoint: str = ""
    shields: list[str] = []
    violation: StoredViolation | None = None


class StoredRetrieval(msgspec.Struct):
    vector_db_ids: str = ""
    inserted_context: Any = ""
    query: str = ""
    chunks: list[dict[str, Any]] = []


class StoredOther(msgspec.Struct):
    kind: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _LeftOut(msgspec.Struct):
    tools: list[str] = []


def left_out(detail: StoredOther) -> str:
    """Return a sentence about the tools of a request that the model was not offered."""
    return _("Not available on this server: {}").format(
        ", ".join(msgspec.json.decode(detail.data, type=_LeftOut).tools)
    )


class _Heard(msgspec.Struct):
    messages: list[dict[str, Any]] = []


def heard(detail: StoredOther) -> str:
    """Return what the client said while the turn ran."""
    messages = msgspec.json.decode(detail.data, type=_Heard).messages
    return "\n\n".join(text_of(message.get("content")) for message in messages)


def read_detail(step: StepSnapshot, kind: type[T]) -> T | None:
    """Decode a step's detail as a type; None if there is none yet, or it cannot be read."""
    try:
        return msgspec.json.decode(step.detail, type=kind) if step.detail else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def messages(body: bytes) -> list[StoredMessage]:
    """Decode a turn's input messages; empty if they cannot be read."""
    try:
        return msgspec.json.decode(body, type=list[StoredMessage])
    except (msgspec.MsgspecError, RecursionError):
        return []


def message(body: bytes | None) -> StoredMessage | None:
    """Decode a turn's answer; None if there is none, or it cannot be read."""
    try:
        return msgspec.json.decode(body, type=StoredMessage) if body else None
    except (msgspec.MsgspecError, RecursionError):
        return None


class TurnDocument(msgspec.Struct):
    """A document of a turn's request."""

    content: Any = ""
    mime_type: str = ""


class _Request(msgspec.Struct):
    documents: list[TurnDocument] | None = None


def documents(request: str) -> list[tuple[str, str]]:
    """(MIME type, URL or beginning of the text) of each document of a turn's request."""
    try:
        stored = msgspec.json.decode(request or "{}", type=_Request).documents or []
    except (msgspec.MsgspecError, RecursionError):
        return []
    return [(document.mime_type, _document_text(document.content)[:MAX_DOCUMENT_CHARS]) for document in stored]


MAX_DOCUMENT_CHARS = 300
"""Characters shown of a document."""


def _document_text(content: Any) -> str:
    match content:
        case {"uri": str(url)}:
            return url
        case _:
            return text_of(content)


def program(arguments: str) -> str | None:
    """The program of a call whose arguments, as JSON text, are ``{"code": …}`` and nothing else."""
    try:
        decoded = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return None
    code = decoded.get("code") if isinstance(decoded, dict) and len(decoded) == 1 else None
    return code if isinstance(code, str) and code.strip() else None


def json_text(raw: msgspec.Raw | bytes) -> str:
    """The JSON text of a raw value."""
    return bytes(raw).decode()


def text_of(content: Any) -> str:
    """The text of a content, which is a string, one item, or a list of items."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(part for part in map(text_of, content) if part)
        case {"type": "text", "text": str(text)}:
            return text
        case _:
            return ""


def located_texts(content: Any, pointer: str) -> list[tuple[str, str]]:
    """The texts of a content, each with its JSON pointer in the step's detail; `text_of` joins them."""
    match content:
        case str():
            return [(content, pointer)]
        case list():
            return [
                located for index, item in enumerate(content) for located in located_texts(item, f"{pointer}/{index}")
            ]
        case {"type": "text", "text": str(text)}:
            return [(text, f"{pointer}/text")]
        case _:
            return []


def pictures(content: Any, pointer: str = "") -> list[Picture]:
    """The images of a content at this JSON pointer in the step's detail."""
    match content:
        case list():
            return [image for index, item in enumerate(content) for image in pictures(item, f"{pointer}/{index}")]
        case {"type": "image", "image": {"url": {"uri": str(url)}}}:
            return [Picture(url=url, pointer=f"{pointer}/image/url/uri")]
        case {"type": "image", "image": {"data": str(data)}}:
            return [Picture(data=data, pointer=f"{pointer}/image/data")]
        case _:
            return []


def encode_json(value: Any) -> str:
    """Encode a decoded value as JSON text again."""
    return msgspec.json.encode(value).decode()


def lacks_usage(steps: Sequence[StepSnapshot]) -> bool:
    """Whether it is not known of an inference how many tokens it took."""
    return any(is_unreported(step) for step in steps)


def is_unreported(step: StepSnapshot) -> bool:
    """Whether a step is an inference of which nobody said how many tokens it took: it was cut before, or its sender
    does not count them."""
    has_ended = step.type == "inference" and step.status in {"completed", "cancelled", "interrupted"}
    return has_ended and not (step.usage.input_tokens or step.usage.output_tokens)
