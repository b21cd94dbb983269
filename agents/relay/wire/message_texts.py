"""The messages of Anthropic's API as messages of chat completions: blocks to texts, parts and calls.

One message may become several: each answer to a call is a message of its own there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agents.base.schemas.wire import JSON
from agents.record.schemas.items import encode
from agents.relay.schemas.message_blocks import (
    AssistantMessageParam,
    DocumentBlock,
    DocumentPlainText,
    ImageBlock,
    ImageBytes,
    MessageParam,
    SearchResultBlock,
    SystemMessageParam,
    TextBlock,
    ThinkingBlock,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessageParam,
)

Part = dict[str, JSON]
Message = dict[str, JSON]

SIGNED = "reasoning-of:"
"""What a signature of this server begins with; the name of the model follows."""
FAILED = "Error: "
"""Chat completions have no other way to say that a call has failed."""
IMAGES_FOLLOW = "(See the images in the next message.)"


def signature(model: str) -> str:
    """Return the signature of what a model has thought."""
    return f"{SIGNED}{model}"


def chat_messages(
    system: str | Sequence[TextBlock] | None, messages: Sequence[MessageParam], model: str
) -> list[Message]:
    """Return the messages of a request. ``model`` is told again what it thought itself: another's thoughts, and those
    of other servers, are left out."""
    out: list[Message] = []
    if instructions := _text(system or ""):
        out.append({"role": "system", "content": instructions})
    for message in messages:
        match message:
            case SystemMessageParam(content=content):
                out.append({"role": "system", "content": _text(content)})
            case AssistantMessageParam():
                out.append(_assistant(message, model))
            case UserMessageParam(content=str(content)):
                out.append({"role": "user", "content": content})
            case UserMessageParam():
                out += _user(message)
    return out


def _text(content: str | Sequence[TextBlock]) -> str:
    return content if isinstance(content, str) else "\n".join(block.text for block in content)


# ---------------------------------------------------------------------------------------------- users


@dataclass(slots=True)
class _Parts:
    """Parts of a message, as one text where they are nothing else: endpoints that read no lists of parts are many."""

    parts: list[Part] = field(default_factory=list)

    def content(self) -> str | list[Part]:
        if all(part["type"] == "text" for part in self.parts):
            return "\n".join(part["text"] for part in self.parts)
        return self.parts

    def split(self) -> tuple[str, list[Part]]:
        """Return the text, and the images."""
        images = [part for part in self.parts if part["type"] != "text"]
        return "\n".join(part["text"] for part in self.parts if part["type"] == "text"), images


def _user(message: UserMessageParam) -> Iterator[Message]:
    """Yield the answers to calls, which must follow the calls, and what the user says. The images of an answer are in
    the latter: a tool says only texts there."""
    said = _Parts()
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            answer, images = _answer(block)
            yield answer
            said.parts += images
        elif not isinstance(block, str):
            said.parts += _parts(block)
    if said.parts:
        yield {"role": "user", "content": said.content()}


def _answer(block: ToolResultBlock) -> tuple[Message, list[Part]]:
    content = block.content
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else _all_parts(content)
    text, images = _Parts(parts).split()
    if images and not text:
        text = IMAGES_FOLLOW
    if block.is_error and not text.lower().startswith("error"):
        text = FAILED + text
    return {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}, images


def _all_parts(blocks: Sequence[object]) -> list[Part]:
    return [part for block in blocks for part in _parts(block)]


def _parts(block: object) -> list[Part]:
    match block:
        case TextBlock(text=text):
            return [_text_part(text)]
        case ImageBlock(source=source):
            url = f"data:{source.media_type};base64,{source.data}" if isinstance(source, ImageBytes) else source.url
            return [{"type": "image_url", "image_url": {"url": url}}]
        case DocumentBlock():
            return _document(block)
        case SearchResultBlock(title=title, source=source_name, content=content):
            return [_text_part("\n".join([title, source_name, _text(content)]))]
        case ToolReferenceBlock(tool_name=name):
            return [_text_part(f"There is a tool {name}.")]
        case _:
            return []


def _document(block: DocumentBlock) -> list[Part]:
    heads = [_text_part(head) for head in (block.title, block.context) if head]
    if isinstance(block.source, DocumentPlainText):
        return [*heads, _text_part(block.source.data)]
    content = block.source.content
    return [*heads, *([_text_part(content)] if isinstance(content, str) else _all_parts(content))]


def _text_part(text: str) -> Part:
    return {"type": "text", "text": text}


# --------------------------------------------------------------------------------------------- models


def _assistant(message: AssistantMessageParam, model: str) -> Message:
    if isinstance(message.content, str):
        return {"role": "assistant", "content": message.content}
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[JSON] = []
    for block in message.content:
        match block:
            case TextBlock(text=text):
                texts.append(text)
            case ThinkingBlock(thinking=str(thought), signature=signed) if thought and signed == signature(model):
                thoughts.append(thought)
            case ToolUseBlock():
                calls.append(_call(block))
    out: Message = {"role": "assistant", "content": "\n".join(texts)}
    if thoughts:
        out["reasoning_content"] = "\n".join(thoughts)
    if calls:
        out["tool_calls"] = calls
    return out


def _call(block: ToolUseBlock) -> JSON:
    function = {"name": block.name, "arguments": encode(block.input).decode()}
    return {"id": block.id, "type": "function", "function": function}
