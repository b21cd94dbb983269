"""What was said, in the messages of OpenTelemetry's GenAI conventions.

``[{"role", "parts": [{"type": "text", "content"} | {"type": "tool_call", "id", "name", "arguments"} |
{"type": "tool_call_response", "id", "response"} | {"type": "reasoning", "content"} | {"type": "blob" | "uri", …}]}]``,
those of an answer with ``finish_reason``. Spans carry them as JSON text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    ImageItem,
    SystemMessage,
    TextItem,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    TurnMessage,
    UserMessage,
    text_of,
)
from agents.record.schemas.events import InferenceDetail
from agents.record.schemas.items import media_type

Part = dict[str, Any]
Message = dict[str, Any]

LARGEST = 128 * 1024
"""Bytes of a call's input messages from which on only the newest of them are told: every call of a long turn
would repeat all that was said before it."""
_FINISH = {"end_of_turn": "stop", "end_of_message": "tool_calls", "out_of_tokens": "length"}


def text(messages: Any) -> str:
    """Messages, or parts, as a span carries them."""
    return msgspec.json.encode(messages).decode()


def parts(content: Content | None) -> list[Part]:
    """A content, one part for each of its items."""
    match content:
        case None | "":
            return []
        case str():
            return [{"type": "text", "content": content}]
        case TextItem():
            return [{"type": "text", "content": content.text}]
        case ImageItem():
            return [_picture(content)]
        case _:
            return [part for item in content for part in parts(item)]


def _picture(item: ImageItem) -> Part:
    image = item.image
    if image.url is not None:
        return {"type": "uri", "modality": "image", "uri": image.url.uri}
    kind = media_type({"data": image.data or ""})
    return {"type": "blob", "modality": "image", "mime_type": kind, "content": image.data}


def call(one: ToolCall) -> Part:
    return {"type": "tool_call", "id": one.call_id, "name": one.tool_name, "arguments": one.arguments}


def said(message: TurnMessage) -> Message:
    """What a turn began with, or what a model said."""
    match message:
        case UserMessage():
            return {"role": "user", "parts": [*parts(message.content), *parts(message.context)]}
        case SystemMessage():
            return {"role": "system", "parts": parts(message.content)}
        case ToolResponseMessage():
            return _result(message.call_id, message.content)
        case CompletionMessage():
            return answer(message)


def answer(message: CompletionMessage, reasoning: str = "") -> Message:
    thoughts = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    told = [*thoughts, *parts(message.content), *map(call, message.tool_calls)]
    return {"role": "assistant", "parts": told, "finish_reason": finish(message)}


def finish(message: CompletionMessage) -> str:
    """Why a model stopped, in the conventions' words."""
    return "tool_calls" if message.tool_calls else _FINISH[message.stop_reason]


def answered(detail: InferenceDetail) -> Message:
    return answer(detail.model_response, detail.reasoning)


def results(responses: Iterable[ToolResponse]) -> list[Message]:
    return [_result(one.call_id, one.content) for one in responses]


def _result(call_id: str, content: Content) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text_of(content)}]}


def recent(messages: Sequence[Message]) -> list[Message]:
    """The newest of them, as far as `LARGEST` allows; the last one in any case."""
    kept: list[Message] = []
    size = 0
    for message in reversed(messages):
        size += len(msgspec.json.encode(message))
        if kept and size > LARGEST:
            break
        kept.append(message)
    return kept[::-1]
