"""Converts messages to those of OpenTelemetry's GenAI conventions.

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
    SummaryMessage,
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

MAX_INPUT_BYTES = 128 * 1024
"""Bytes of a call's input messages, above which only the newest are exported: every call of a long turn would repeat
all messages before it."""
_FINISH = {"end_of_turn": "stop", "end_of_message": "tool_calls", "out_of_tokens": "length"}


def text(messages: Any) -> str:
    """Messages, or parts, as a span carries them."""
    return msgspec.json.encode(messages).decode()


def parts(content: Content | None) -> list[Part]:
    """The parts of a content, one for each of its items."""
    match content:
        case None | "":
            return []
        case str():
            return [{"type": "text", "content": content}]
        case TextItem():
            return [{"type": "text", "content": content.text}]
        case ImageItem():
            return [_image(content)]
        case _:
            return [part for item in content for part in parts(item)]


def _image(item: ImageItem) -> Part:
    image = item.image
    if image.url is not None:
        return {"type": "uri", "modality": "image", "uri": image.url.uri}
    kind = media_type({"data": image.data or ""})
    return {"type": "blob", "modality": "image", "mime_type": kind, "content": image.data}


def call(tool_call: ToolCall) -> Part:
    return {"type": "tool_call", "id": tool_call.call_id, "name": tool_call.tool_name, "arguments": tool_call.arguments}


def from_turn_message(message: TurnMessage) -> Message:
    """Convert a message of a turn's input or output."""
    match message:
        case UserMessage():
            return {"role": "user", "parts": [*parts(message.content), *parts(message.context)]}
        case SystemMessage() | SummaryMessage():
            return {"role": "system", "parts": parts(message.content)}
        case ToolResponseMessage():
            return _result(message.call_id, message.content)
        case CompletionMessage():
            return answer(message)


def answer(message: CompletionMessage, reasoning: str = "") -> Message:
    thoughts = [{"type": "reasoning", "content": reasoning}] if reasoning else []
    answer_parts = [*thoughts, *parts(message.content), *map(call, message.tool_calls)]
    return {"role": "assistant", "parts": answer_parts, "finish_reason": finish(message)}


def finish(message: CompletionMessage) -> str:
    """The finish reason of a message, as the conventions name it."""
    return "tool_calls" if message.tool_calls else _FINISH[message.stop_reason]


def from_inference(detail: InferenceDetail) -> Message:
    return answer(detail.model_response, detail.reasoning)


def results(responses: Iterable[ToolResponse]) -> list[Message]:
    return [_result(result.call_id, result.content) for result in responses]


def _result(call_id: str, content: Content) -> Message:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": text_of(content)}]}


def recent(messages: Sequence[Message]) -> list[Message]:
    """The newest messages, as many as `MAX_INPUT_BYTES` allows; the last one in any case."""
    newest: list[Message] = []
    size = 0
    for message in reversed(messages):
        size += len(msgspec.json.encode(message))
        if newest and size > MAX_INPUT_BYTES:
            break
        newest.append(message)
    return newest[::-1]
