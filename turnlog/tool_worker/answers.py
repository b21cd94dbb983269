"""What functions return and raise, as answers for the server: text and content as they are, all else as JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from pydantic_core import to_json

from turnlog.tool_worker.functions import ArgumentError
from turnlog.tools import Image, Text, ToolResult

Answer = tuple[dict[str, Any], bytes]
"""A message's object, still without the number of its call, and its bytes."""
MAX_ERROR = 2000
"""Characters."""


def answer(value: Any) -> Answer:
    """What a function returned."""
    if not isinstance(value, ToolResult):
        return _content(value)
    head, body = _content(value.content)
    metadata = json.loads(_json(value.metadata)) if value.metadata else {}
    return {**head, "error": value.error, "metadata": metadata}, body


def failure(message: str) -> Answer:
    """A call that failed."""
    message = message[:MAX_ERROR]
    head, body = _content(message)
    return {**head, "error": message}, body


def raised(error: BaseException) -> Answer:
    """What a function raised."""
    if isinstance(error, ArgumentError):
        return failure(str(error))
    name = type(error).__name__
    try:
        return failure(f"{name}: {error}")
    except Exception:  # noqa: BLE001 - the words of an exception are the operator's code, too
        return failure(name)


def _content(value: Any) -> Answer:
    if isinstance(value, str):
        return {}, value.encode(errors="surrogatepass")
    if isinstance(value, Text | Image):
        return {"is_json": True}, _json(_item(value))
    if isinstance(value, list | tuple) and value and all(isinstance(part, Text | Image) for part in value):
        return {"is_json": True}, _json([_item(part) for part in value])
    return {}, _json(value)


def _item(item: Text | Image) -> dict[str, Any]:
    if isinstance(item, Text):
        return {"type": "text", "text": item.text}
    if item.data is None:
        return {"type": "image", "image": {"url": {"uri": item.url}}}
    return {"type": "image", "image": {"data": b64encode(item.data).decode()}}


def _json(value: Any) -> bytes:
    return to_json(value, fallback=str, inf_nan_mode="strings")
