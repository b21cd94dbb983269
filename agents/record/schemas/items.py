"""Encodes a session's messages, calls and results as items: as they are sent to a model.

An item is the JSON text of one chat-completions message, made once and stored; the history of a
turn is those texts joined by commas, without parsing. Encoding lives here because both the loop
(for what it just produced) and the store (for what it keeps) need the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import ConfigDict, TypeAdapter

from agents.record.schemas.compaction import compaction_item
from agents.record.schemas.content import (
    CompletionMessage,
    Content,
    ContentItem,
    ImageItem,
    SummaryMessage,
    SystemMessage,
    TextItem,
    ToolCall,
    ToolDef,
    ToolParameter,
    ToolResponse,
    ToolResponseMessage,
    TurnMessage,
    UserMessage,
    text_of,
)
from agents.record.schemas.events import (
    USER_INPUT,
    Event,
    InferenceDetail,
    OtherDetail,
    ShieldDetail,
    StepEnded,
    ToolDetail,
    TurnEnded,
)

encode = msgspec.json.encode

MAX_MODEL_TEXT = 64 * 1024
"""Characters of a server tool's answer that a model gets."""
CUT_KEY = "cut_for_model"
"""Key in a response's metadata: the number of characters after which its text is cut for the model."""

_PYTHON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
_JSON_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})


def system_item(instructions: str) -> bytes:
    return encode({"role": "system", "content": instructions})


def input_item(message: TurnMessage, extra_text: str = "", images: Sequence[ImageItem] = ()) -> bytes:
    """Encode a message of the caller. ``context``, ``extra_text`` (documents, retrieved text) and ``images``
    follow its text: they belong to this inference, so history drops them."""
    if isinstance(message, ToolResponseMessage):
        return encode({"role": "tool", "tool_call_id": message.call_id, "content": text_of(message.content)})
    if isinstance(message, CompletionMessage):
        return assistant_item(message)
    if isinstance(message, SystemMessage):
        return system_item(text_of(message.content))
    if isinstance(message, SummaryMessage):
        return compaction_item(text_of(message.content))
    extra = "\n".join(part for part in (text_of(message.context), extra_text) if part)
    content = _parts(message.content, extra)
    if images:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        content = [*parts, *map(_part, images)]
    return encode({"role": "user", "content": content})


def _parts(content: Content, extra: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return f"{content}\n{extra}" if extra else content
    items = content if isinstance(content, list) else [content]
    parts = [_part(item) for item in items]
    return [*parts, {"type": "text", "text": extra}] if extra else parts


def _part(item: ContentItem) -> dict[str, Any]:
    match item:
        case TextItem():
            return {"type": "text", "text": item.text}
        case ImageItem():
            image = item.image
            url = image.url.uri if image.url else f"data:{media_type({'data': image.data})};base64,{image.data}"
            return {"type": "image_url", "image_url": {"url": url}}


def media_type(image: Mapping[str, Any]) -> str:
    """Guess the media type of an image (as JSON: ``url`` or ``data``) from its data URL, first bytes or name;
    PNG by default."""
    data, url = image.get("data") or "", str((image.get("url") or {}).get("uri", ""))
    if url.startswith("data:image/"):
        return url[5:].partition(";")[0].partition(",")[0][:100]
    for start, kind in (("/9j/", "jpeg"), ("R0lGOD", "gif"), ("UklGR", "webp")):
        if data.startswith(start) or url.partition("?")[0].lower().endswith((f".{kind}", f".{kind[:2]}g")):
            return f"image/{kind}"
    return "image/png"


def assistant_item(message: CompletionMessage) -> bytes:
    out: dict[str, Any] = {"role": "assistant", "content": text_of(message.content)}
    if message.tool_calls:
        out["tool_calls"] = [_call(call) for call in message.tool_calls]
    return encode(out)


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments_json
    if arguments is None:
        arguments = call.arguments if isinstance(call.arguments, str) else encode(call.arguments).decode()
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.tool_name, "arguments": arguments},
    }


def tool_item(response: ToolResponse) -> bytes:
    text = text_of(response.content)
    limit = (response.metadata or {}).get(CUT_KEY)
    if isinstance(limit, int) and 0 < limit < len(text):
        text = f"{text[:limit]}\n[Cut here: these are the first {limit} of {len(text)} characters.]"
    return encode({"role": "tool", "tool_call_id": response.call_id, "content": text})


def _unanswered(call: ToolCall) -> bytes:
    """Encode an answer for a call that was not run: endpoints refuse a history without one."""
    return encode({"role": "tool", "tool_call_id": call.call_id, "content": "(This call was not run.)"})


def items_of(event: Event) -> list[bytes]:
    """Return the items an event adds to its session, in order (`_own_items`), then those of ``heard``."""
    own = _own_items(event)
    return [*own, *input_items(event.heard)] if isinstance(event, StepEnded) and event.heard else own


def _own_items(event: Event) -> list[bytes]:
    """Return the items an event itself adds to its session, in order. The caller's messages are added when the
    turn starts; a step that failed adds what a model may see again, so an inference cut in its
    middle adds nothing (half an answer would be continued as if it were whole)."""
    match event:
        case StepEnded(status="completed", detail=InferenceDetail(compaction=str(), model_response=message)):
            return [compaction_item(text_of(message.content))]
        case StepEnded(status="completed", detail=InferenceDetail(model_response=message)):
            return [assistant_item(message)]
        case StepEnded(detail=ToolDetail(approval="approved")):
            return []  # the call itself follows
        case StepEnded(detail=ToolDetail(tool_responses=[], tool_calls=calls)):
            return [_unanswered(call) for call in calls]
        case StepEnded(detail=ToolDetail(tool_responses=responses)):
            return [tool_item(response) for response in responses]
        case TurnEnded(reason="max_infer_iters", output_message=message) if message:
            return [_unanswered(call) for call in message.tool_calls]
        case StepEnded(detail=OtherDetail(kind=kind, data=data)) if kind == USER_INPUT:
            return input_items(messages_in(data))
        case StepEnded(detail=ShieldDetail(violation=violation)) if violation and violation.violation_level == "error":
            return [encode({"role": "assistant", "content": violation.user_message or ""})]
        case _:
            return []


_MESSAGES = TypeAdapter(list[TurnMessage], config=ConfigDict(defer_build=True))


def messages_in(data: dict[str, Any]) -> list[TurnMessage]:
    """Return the messages of a step that says what the client sent while the turn ran."""
    return _MESSAGES.validate_python(data.get("messages", []))


_ASSISTANT = b'{"role":"assistant"'


def joined_calls(history: Sequence[bytes]) -> list[bytes]:
    """Merge neighbouring assistant messages of a history where the later one makes calls: endpoints want
    all calls of a round in one message, before the answers. Only those are parsed."""
    rounds: list[list[bytes]] = []
    for item in history:
        if rounds and item.startswith(_ASSISTANT) and rounds[-1][0].startswith(_ASSISTANT) and b'"tool_calls"' in item:
            rounds[-1].append(item)
        else:
            rounds.append([item])
    return [items[0] if len(items) == 1 else _merged(items) for items in rounds]


def _merged(items: Sequence[bytes]) -> bytes:
    parts = [msgspec.json.decode(item) for item in items]
    texts = [part["content"] for part in parts if part.get("content")]
    calls = [call for part in parts for call in part.get("tool_calls", ())]
    return encode({"role": "assistant", "content": "\n".join(texts), "tool_calls": calls})


def input_items(messages: Sequence[TurnMessage]) -> list[bytes]:
    """Encode a turn's input as history keeps it, without this turn's own context."""
    return [input_item(_without_context(message)) for message in messages]


def _without_context(message: TurnMessage) -> TurnMessage:
    if isinstance(message, UserMessage) and message.context is not None:
        return message.model_copy(update={"context": None})
    return message


def tool_definition(tool: ToolDef) -> dict[str, Any]:
    """Encode a tool for chat completions."""
    schema = tool.input_schema or _schema(tool.parameters or [])
    function: dict[str, Any] = {"name": tool.name, "description": tool.description or "", "parameters": schema}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _schema(parameters: list[ToolParameter]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for parameter in parameters:
        kind = _PYTHON_TYPES.get(parameter.parameter_type, parameter.parameter_type)
        entry: dict[str, Any] = {"type": kind if kind in _JSON_TYPES else "string"}
        entry["description"] = parameter.description
        if parameter.default is not None:
            entry["default"] = parameter.default
        properties[parameter.name] = entry
    required = [parameter.name for parameter in parameters if parameter.required]
    return {"type": "object", "properties": properties, "required": required}
