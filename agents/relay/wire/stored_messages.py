"""The messages of a completion in the log, as OpenAI's API lists them: those that were sent, each under an id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agents.base.errors import InvalidRequest
from agents.base.schemas.wire import JSON

_PARTS = ("text", "image_url")
"""Types of parts that are listed."""


class _Logged(msgspec.Struct):
    input_messages: list[msgspec.Raw] = []


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A page of messages as JSON, with their ids."""

    ids: Sequence[str]
    messages: Sequence[bytes]
    has_more: bool


def page(completion_id: str, body: bytes, *, after: str, limit: int, newest_first: bool) -> MessagePage:
    """Return the messages of a completion, as its log has it, behind the id ``after``. Raises InvalidRequest where that
    is none of theirs."""
    sent = msgspec.json.decode(body, type=_Logged).input_messages
    ids = [f"{completion_id}-{position}" for position in range(len(sent))]
    order = list(range(len(sent)))
    if newest_first:
        order.reverse()
    if after:
        if after not in ids:
            raise InvalidRequest("after: not the id of a message of this chat completion.", param="after")
        order = order[order.index(ids.index(after)) + 1 :]
    positions = order[:limit]
    messages = [_message(ids[position], sent[position]) for position in positions]
    return MessagePage([ids[position] for position in positions], messages, len(order) > limit)


def _message(message_id: str, sent: msgspec.Raw) -> bytes:
    message: dict[str, JSON] = msgspec.json.decode(sent)
    content = message.get("content")
    parts = None
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") in _PARTS]
        content = "\n".join(str(part.get("text") or "") for part in parts if part["type"] == "text") or None
    named: dict[str, JSON] = {"refusal": None, **message, "id": message_id, "content": content, "content_parts": parts}
    return msgspec.json.encode(named)
