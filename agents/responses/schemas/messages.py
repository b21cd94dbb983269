"""The messages for a model of OpenAI's input items.

A result of a server's tool becomes a call and its answer. Items that only a client or OpenAI itself can read
(reasoning, listings) are stored and not sent to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import BaseModel

from agents.record.schemas.content import (
    CompletionMessage,
    ContentItem,
    ImageData,
    ImageItem,
    SummaryMessage,
    SystemMessage,
    TextItem,
    ToolCall,
    ToolResponseMessage,
    TurnMessage,
    Url,
    UserMessage,
)
from agents.responses.schemas.client_calls import FORMS, KIND_OF_CALL, KIND_OF_OUTPUT, qualified_name
from agents.responses.schemas.input_items import (
    ApprovalRequestItem,
    ClientCallItem,
    ClientOutputItem,
    CompactionItem,
    FunctionCallItem,
    FunctionOutputItem,
    ImagePart,
    MessageItem,
    OtherItem,
    RefusalPart,
    TextPart,
)


def messages_of(item: Any) -> list[TurnMessage]:
    """Return the messages for a model, none to two."""
    match item:
        case MessageItem():
            return [_message(item)]
        case FunctionCallItem():
            name = qualified_name(item.name, item.namespace)
            return [CompletionMessage(content="", tool_calls=[_call(item.call_id, name, item.arguments)])]
        case FunctionOutputItem():
            return [ToolResponseMessage(call_id=item.call_id, content=_content(item.output))]
        case ClientCallItem():
            return [_client_call(item)]
        case ClientOutputItem():
            form = FORMS[KIND_OF_OUTPUT[item.type]]
            return [ToolResponseMessage(call_id=item.called, content=form.result(item.model_dump()))]
        case ApprovalRequestItem():
            return _decided_call(item)
        case CompactionItem():
            return [SummaryMessage(content=item.summary)]
        case OtherItem():
            return _call_and_result(item)
        case _:
            return []


def _message(item: MessageItem) -> TurnMessage:
    content = _content(item.content)
    match item.role:
        case "user":
            return UserMessage(content=content)
        case "assistant":
            return CompletionMessage(content=_text_of(content))
        case _:
            return SystemMessage(content=_text_of(content))


def _text_of(content: str | list[ContentItem]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(item.text for item in content if isinstance(item, TextItem))


def _content(content: str | Sequence[Any]) -> str | list[ContentItem]:
    """Convert parts to a message's content; a single text becomes that text. Files and images of uploaded
    files have been replaced before, or are left out."""
    if isinstance(content, str):
        return content
    items = [item for part in content if (item := _item(part))]
    if len(items) == 1 and isinstance(items[0], TextItem):
        return items[0].text
    return items or ""


def _item(part: Any) -> ContentItem | None:
    match part:
        case TextPart():
            return TextItem(text=part.text)
        case RefusalPart():
            return TextItem(text=part.refusal)
        case ImagePart(image_url=str(url)):
            return ImageItem(image=ImageData(url=Url(uri=url)))
        case _:
            return None


def _call(call_id: str, name: str, arguments: str) -> ToolCall:
    try:
        decoded = msgspec.json.decode(arguments or "{}")
    except (ValueError, RecursionError):
        decoded = arguments
    parsed = decoded if isinstance(decoded, dict) else arguments
    return ToolCall(call_id=call_id, tool_name=name, arguments=parsed, arguments_json=arguments or "{}")


def _client_call(item: ClientCallItem) -> CompletionMessage:
    kind = KIND_OF_CALL[item.type]
    fields = _extra(item)
    name, namespace = fields.get("name"), fields.get("namespace")
    own = name if isinstance(name, str) and name else kind
    arguments = msgspec.json.encode(FORMS[kind].arguments(fields)).decode()
    call = _call(item.called, qualified_name(own, namespace if isinstance(namespace, str) else None), arguments)
    return CompletionMessage(content="", tool_calls=[call])


def _extra(item: BaseModel) -> dict[str, Any]:
    """Return the fields of an item that its type does not name."""
    return item.__pydantic_extra__ or {}


def _error_text(error: Any) -> str:
    """Return the text of an error, which is a text, or OpenAI's object with content or a message."""
    if not isinstance(error, dict):
        return str(error or "")
    content = error.get("content")
    parts = (
        [str(part.get("text", "")) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    return "\n".join(parts) or str(error.get("message") or "")


REFUSED = "The user did not approve this call"
"""What a model is told of a call that its client has refused."""


def approved_call(item: ApprovalRequestItem) -> ToolCall:
    """Return the call of a request for approval."""
    return _call(item.id or f"call_{item.name}", item.name, item.arguments)


def _decided_call(item: ApprovalRequestItem) -> list[TurnMessage]:
    """Return a call that the client has decided about, with the answer where that is no; the server makes the call
    that it has approved. What is not decided was never called."""
    if item.decision is None:
        return []
    call = approved_call(item)
    message = CompletionMessage(content="", tool_calls=[call])
    if item.decision == "approved":
        return [message]
    return [message, ToolResponseMessage(call_id=call.call_id, content=refusal(item.reason))]


def refusal(reason: str | None) -> str:
    return f"{REFUSED}: {reason}" if reason else f"{REFUSED}."


def _call_and_result(item: OtherItem) -> list[TurnMessage]:
    """Return the messages of a finished call of a server's tool: the call and its result."""
    extra = _extra(item)
    name, output = str(item.type), ""
    arguments: Any = extra
    match item.type:
        case "mcp_call":
            name, arguments = str(extra.get("name") or name), extra.get("arguments") or "{}"
            output = str(extra.get("output") or _error_text(extra.get("error")))
        case "file_search_call":
            name, arguments = "knowledge_search", {"query": " ".join(map(str, _list(extra.get("queries"))))}
            results = _list(extra.get("results"))
            output = "\n\n".join(str(result.get("text", "")) for result in results if isinstance(result, dict))
        case _:
            return []
    raw = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    call_id = item.id or f"call_{name}"
    call = CompletionMessage(content="", tool_calls=[_call(call_id, name, raw)])
    return [call, ToolResponseMessage(call_id=call_id, content=output)]


def _list(value: Any) -> list[Any]:
    """Return the value of an unchecked field as a list; empty where it is none."""
    return value if isinstance(value, list) else []
