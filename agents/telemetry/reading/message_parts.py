"""Parser of the parts of a message: text, pictures, reasoning, tool calls and their results, in every sender's
shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.record.schemas.content import ImageData, ImageItem, Url
from agents.telemetry.reading.coerce import text, text_or_json
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.sanitize import MAX_ITEMS

Part = dict[str, Any]


def add_part(part: Any, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    """Add a part to its message; the result of a tool becomes a message of its own, in ``messages``."""
    if isinstance(part, str):
        if part:
            message.items.append(part)
        return
    if not isinstance(part, dict):
        return
    kind = part.get("type")
    add = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    if add is None:
        add = next((_BY_KEY[key] for key in _BY_KEY if key in part), _add_unknown)
    add(part, message, messages)


def blocks_text(value: Any) -> str:
    """Return a tool's result as text: its text blocks joined where it has only such, else JSON."""
    if isinstance(value, str) or value is None:
        return value or ""
    if isinstance(value, list) and value and all(_is_text(item) for item in value[:MAX_ITEMS]):
        return "\n".join(text(item if isinstance(item, str) else item["text"]) for item in value[:MAX_ITEMS])
    if isinstance(value, dict):
        if value.get("type") == "text" and isinstance(value.get("value"), str):  # the AI SDK
            return str(value["value"])
        if value.get("type") == "json" and "value" in value:
            return text_or_json(value["value"])
    return text_or_json(value)


def _is_text(item: Any) -> bool:
    return isinstance(item, str) or (isinstance(item, dict) and isinstance(item.get("text"), str))


def image_from_url(address: Any) -> ImageItem | None:
    """Return a picture by its address: a ``data:`` or an ``http`` URL."""
    if not isinstance(address, str) or not address:
        return None
    return ImageItem.model_construct(image=ImageData.model_construct(url=Url.model_construct(uri=address)))


def image_from_base64(media: Any, data: Any) -> ImageItem | str | None:
    """Return a picture from base64. Other media are only named."""
    kind = text(media) or "image/png"
    if isinstance(data, dict):
        data = data.get("base64")
    if not kind.startswith("image"):
        return f"[{kind[:100]}]"
    if not isinstance(data, str) or not data:
        return None
    return image_from_url(data if data.startswith("data:") else f"data:{kind};base64,{data}")


def _add_item(item: ImageItem | str | None, message: HistoryMessage) -> None:
    if item:
        message.items.append(item)


def _add_text(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    content = part.get("text", part.get("content", part.get("refusal")))
    if isinstance(content, dict):
        content = content.get("value")
    if content == "__REDACTED__":
        message.hidden = True
    else:
        _add_item(text(content), message)


def _add_reasoning(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    content = part.get("thinking") or part.get("content") or part.get("text") or part.get("summary")
    if isinstance(content, dict):
        content = content.get("text")
    reasoning = blocks_text(content) if content else ""
    message.reasoning = "\n".join(filter(None, (message.reasoning, reasoning)))


def _add_call(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    """Add a tool call. ``id`` is tried last: in Responses it is the item's, not the call's."""
    arguments = _first_present(part, "arguments", "input", "args")
    inner = part.get("server_tool_call")
    if arguments is None and isinstance(inner, dict):
        arguments = {key: value for key, value in inner.items() if key != "type"}
    name = text(part.get("name") or part.get("toolName") or part.get("tool_name"))
    message.calls.append(
        RequestedCall(text(_first_present(part, "call_id", "toolCallId", "toolUseId", "id")), name, arguments)
    )


def _add_answer(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    result = _first_present(part, "response", "result", "output", "content", "server_tool_call_response")
    call = text(_first_present(part, "call_id", "tool_use_id", "toolCallId", "toolUseId", "tool_call_id", "id"))
    content = blocks_text(result)
    messages.append(HistoryMessage("tool", [content] if content else [], answered_call=call, hidden=result is None))


def _first_present(part: Part, *names: str) -> Any:
    for name in names:
        value = part.get(name)
        if value is not None:
            return value
    return None


def _add_image(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    source = _first_present(part, "image_url", "image", "source", "data", "url")
    if isinstance(source, dict):
        address = source.get("url") or source.get("uri")
        if isinstance(source.get("image"), dict):  # OpenInference: {"image": {"url": …}}
            address = source["image"].get("url")
        media = source.get("media_type") or source.get("mimeType") or f"image/{text(source.get('format')) or 'png'}"
        inner = source.get("source")
        data = inner.get("bytes") if isinstance(inner, dict) else source.get("data")
        _add_item(image_from_url(address) or image_from_base64(media, data), message)
    elif isinstance(source, str) and (source.startswith("data:") or "://" in source[:12]):
        _add_item(image_from_url(source), message)
    else:
        _add_item(
            image_from_base64(part.get("mediaType") or part.get("mimeType") or part.get("mime_type"), source), message
        )


def _add_blob(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    media = part.get("mime_type") or part.get("mimeType") or part.get("mediaType") or part.get("modality")
    _add_item(image_from_base64(media, _first_present(part, "content", "data")), message)


def _add_uri(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    media = text(part.get("mime_type") or part.get("mimeType") or part.get("modality"))
    address = _first_present(part, "uri", "fileUri", "url")
    if media.startswith("image"):
        _add_item(image_from_url(address), message)
    else:
        _add_item(f"[{text(address)[:300]}]" if address else None, message)


def _add_file(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    """Add a file that the sender only names, or one with its bytes in it."""
    inner = part.get("file")
    file = inner if isinstance(inner, dict) else part
    name = text(_first_present(file, "filename", "name", "file_id", "fileUri", "id"))
    media = text(_first_present(file, "mime_type", "mediaType"))
    if media.startswith("image") and isinstance(file.get("data"), str):
        _add_item(image_from_base64(media, file["data"]), message)
    else:
        _add_item(f"[file {name[:300]}]" if name else "[file]", message)


def _nested(read: Callable[[Part, HistoryMessage, list[HistoryMessage]], None], key: str) -> Any:
    """Read a part of Google or Bedrock, which have no ``type``: it lies under the name of its kind."""

    def add(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
        inner = part.get(key)
        read(inner if isinstance(inner, dict) else {"content": inner}, message, messages)

    return add


def _add_unknown(part: Part, message: HistoryMessage, messages: list[HistoryMessage]) -> None:
    """Add a part of an unknown kind by its text, or by its name."""
    content = part.get("text") if isinstance(part.get("text"), str) else part.get("content")
    if isinstance(content, str) and content:
        message.items.append(content)
    elif isinstance(part.get("type"), str):
        message.items.append(f"[{part['type'][:100]}]")


_BY_TYPE: dict[str, Callable[[Part, HistoryMessage, list[HistoryMessage]], None]] = {
    **dict.fromkeys(("text", "input_text", "output_text", "refusal"), _add_text),
    **dict.fromkeys(("reasoning", "thinking", "redacted_thinking", "reasoning_content"), _add_reasoning),
    **dict.fromkeys(
        (
            "tool_call",
            "tool-call",
            "tool_use",
            "function_call",
            "custom_tool_call",
            "server_tool_call",
            "server_tool_use",
        ),
        _add_call,
    ),
    **dict.fromkeys(
        (
            "tool_call_response",
            "tool-result",
            "tool_result",
            "function_call_output",
            "custom_tool_call_output",
            "server_tool_call_response",
        ),
        _add_answer,
    ),
    **dict.fromkeys(("image_url", "input_image", "image"), _add_image),
    "blob": _add_blob,
    "uri": _add_uri,
    **dict.fromkeys(("file", "input_file", "document"), _add_file),
}
_BY_KEY: dict[str, Callable[[Part, HistoryMessage, list[HistoryMessage]], None]] = {
    "functionCall": _nested(_add_call, "functionCall"),
    "function_call": _nested(_add_call, "function_call"),
    "functionResponse": _nested(_add_answer, "functionResponse"),
    "function_response": _nested(_add_answer, "function_response"),
    "toolUse": _nested(_add_call, "toolUse"),
    "toolResult": _nested(_add_answer, "toolResult"),
    "reasoningContent": _nested(_add_reasoning, "reasoningText"),
    "inlineData": _nested(_add_blob, "inlineData"),
    "inline_data": _nested(_add_blob, "inline_data"),
    "fileData": _nested(_add_uri, "fileData"),
    "text": _add_text,
}
