"""What a step holds, read from its stored JSON for showing.

More forgiving than the types it was written with: a record from elsewhere, or from an older
version, is shown as far as it can be read. Values stay the JSON text they are stored as.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from agents.record.schemas.turns import StepSnapshot

T = TypeVar("T", bound=msgspec.Struct)


class Picture(msgspec.Struct):
    """An image of a content: a URL, or base64 data; ``pointer`` is its place in its step's detail."""

    url: str = ""
    data: str = ""
    pointer: str = ""


class Call(msgspec.Struct):
    call_id: str
    tool_name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    arguments_json: str | None = None

    @property
    def written(self) -> str:
        """The arguments as the model wrote them."""
        if self.arguments_json is not None:
            return self.arguments_json
        raw = text(self.arguments)
        return str(msgspec.json.decode(self.arguments)) if raw.startswith('"') else raw


class Answer(msgspec.Struct):
    call_id: str = ""
    tool_name: str = ""
    content: Any = ""
    metadata: Any = None


class Message(msgspec.Struct):
    content: Any = ""
    tool_calls: list[Call] = []
    context: Any = None
    role: str = ""
    call_id: str = ""


class Inference(msgspec.Struct):
    model_response: Message = msgspec.field(default_factory=Message)
    model: str = ""
    finish_reason: str | None = None
    reasoning: str = ""


class Tool(msgspec.Struct):
    """``kind`` and ``label``: which of OpenAI's tools it is, and of which server. ``approval`` says that
    the step only asks whether the call may be made, ``asked`` that one before it did."""

    tool_calls: list[Call] = []
    tool_responses: list[Answer] = []
    kind: str | None = None
    label: str | None = None
    approval: str | None = None
    asked: str | None = None


class Violation(msgspec.Struct):
    violation_level: Literal["info", "warn", "error"] = "error"
    user_message: str | None = None
    metadata: dict[str, Any] = {}


class Shield(msgspec.Struct):
    touchpoint: str = ""
    shields: list[str] = []
    violation: Violation | None = None


class Memory(msgspec.Struct):
    vector_db_ids: str = ""
    inserted_context: Any = ""
    query: str = ""
    chunks: list[dict[str, Any]] = []


class Other(msgspec.Struct):
    kind: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


def read(step: StepSnapshot, kind: type[T]) -> T | None:
    """A step's detail as its kind; None when there is none yet, or it cannot be read."""
    try:
        return msgspec.json.decode(step.detail, type=kind) if step.detail else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def messages(body: bytes) -> list[Message]:
    """A turn's input messages; none that cannot be read."""
    try:
        return msgspec.json.decode(body, type=list[Message])
    except (msgspec.MsgspecError, RecursionError):
        return []


def message(body: bytes | None) -> Message | None:
    """A turn's answer."""
    try:
        return msgspec.json.decode(body, type=Message) if body else None
    except (msgspec.MsgspecError, RecursionError):
        return None


class Document(msgspec.Struct):
    """A document that was given with a turn."""

    content: Any = ""
    mime_type: str = ""


class _Request(msgspec.Struct):
    documents: list[Document] | None = None


def documents(request: str) -> list[tuple[str, str]]:
    """The documents of a turn's request: what kind each is, and where it is or how it begins."""
    try:
        found = msgspec.json.decode(request or "{}", type=_Request).documents or []
    except (msgspec.MsgspecError, RecursionError):
        return []
    return [(each.mime_type, _document_words(each.content)[:DOCUMENT]) for each in found]


DOCUMENT = 300
"""Characters shown of a document."""


def _document_words(content: Any) -> str:
    match content:
        case {"uri": str(url)}:
            return url
        case _:
            return words(content)


def program(arguments: str) -> str | None:
    """The program of a call whose arguments, as JSON text, are ``{"code": …}`` and nothing else."""
    try:
        found = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return None
    code = found.get("code") if isinstance(found, dict) and len(found) == 1 else None
    return code if isinstance(code, str) and code.strip() else None


def text(raw: msgspec.Raw | bytes) -> str:
    """JSON text of a value kept raw."""
    return bytes(raw).decode()


def words(content: Any) -> str:
    """The words of a content: a text, one item, or a list of items."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(part for part in map(words, content) if part)
        case {"type": "text", "text": str(said)}:
            return said
        case _:
            return ""


def pieces(content: Any, pointer: str) -> list[tuple[str, str]]:
    """The texts that the words of a content are joined of, each with its place in its step's detail."""
    match content:
        case str():
            return [(content, pointer)]
        case list():
            return [piece for place, item in enumerate(content) for piece in pieces(item, f"{pointer}/{place}")]
        case {"type": "text", "text": str(said)}:
            return [(said, f"{pointer}/text")]
        case _:
            return []


def pictures(content: Any, pointer: str = "") -> list[Picture]:
    """The images of a content that has this place in its step's detail."""
    match content:
        case list():
            return [image for place, item in enumerate(content) for image in pictures(item, f"{pointer}/{place}")]
        case {"type": "image", "image": {"url": {"uri": str(url)}}}:
            return [Picture(url=url, pointer=f"{pointer}/image/url/uri")]
        case {"type": "image", "image": {"data": str(data)}}:
            return [Picture(data=data, pointer=f"{pointer}/image/data")]
        case _:
            return []


def encoded(value: Any) -> str:
    """A decoded value as JSON text again."""
    return msgspec.json.encode(value).decode()
