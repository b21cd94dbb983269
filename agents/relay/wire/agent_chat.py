"""An agent's turn as a chat completion: messages in, the events of the turn out as chunks.

A caller knows a waiting call of the agent's client tools by an id with the call's step in it, so that an answer finds
its turn although this API keeps no conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base import ids
from agents.base.ids import Kind
from agents.base.schemas.wire import JSON
from agents.record.schemas.chat import paired_history
from agents.record.schemas.content import (
    Content,
    ContentItem,
    ImageData,
    ImageItem,
    InputMessage,
    TextItem,
    ToolResponseMessage,
    Url,
    Usage,
    UserMessage,
    text_of,
)
from agents.record.schemas.events import (
    Delta,
    Entry,
    Event,
    StepEnded,
    StepStarted,
    TurnAwaiting,
    TurnEnded,
)
from agents.record.schemas.items import encode, input_item, system_item
from agents.relay.schemas.agent_chat import (
    ChatAssistantMessage,
    ChatContent,
    ChatMessage,
    ChatSystemMessage,
    ChatText,
    ChatToolMessage,
    ChatUserMessage,
)
from agents.relay.wire.chat_completions import usage_json

CALL_PREFIX = "call"
BETWEEN_ROUNDS = "\n\n"
"""Between what a model says before a call of a tool and after it."""

# ------------------------------------------------------------------------------------------- messages


@dataclass(frozen=True, slots=True)
class ParsedChat:
    """The messages of a request: what was said ``before`` (encoded), and what the turn begins with."""

    before: list[bytes]
    messages: list[InputMessage]

    @property
    def answered_steps(self) -> list[int] | None:
        """The steps whose calls are answered; None where anything else is said."""
        steps = [
            ids.parse_part(Kind.STEP, message.call_id) if isinstance(message, ToolResponseMessage) else None
            for message in self.messages
        ]
        known = [step for step in steps if step is not None]
        return known if known and len(known) == len(steps) else None


def parse(messages: Sequence[ChatMessage]) -> ParsedChat:
    """Take what follows the last message of the assistant as new, and all the rest as said before."""
    last = max((place for place, message in enumerate(messages) if message.role == "assistant"), default=-1)
    before = [_item(message) for message in messages[: last + 1]]
    new: list[InputMessage] = []
    for message in messages[last + 1 :]:
        match message:
            case ChatUserMessage():
                new.append(UserMessage(content=_content(message.content)))
            case ChatToolMessage():
                new.append(ToolResponseMessage(call_id=message.tool_call_id, content=_content(message.content)))
            case _:
                before.append(_item(message))
    answered = [message.call_id for message in new if isinstance(message, ToolResponseMessage)]
    return ParsedChat(paired_history(before, answered), new)


def _item(message: ChatMessage) -> bytes:
    match message:
        case ChatSystemMessage():
            return system_item(text_of(_content(message.content)))
        case ChatUserMessage():
            return input_item(UserMessage(content=_content(message.content)))
        case ChatToolMessage():
            return input_item(ToolResponseMessage(call_id=message.tool_call_id, content=_content(message.content)))
        case ChatAssistantMessage():
            out: dict[str, JSON] = {"role": "assistant", "content": text_of(_content(message.content))}
            if message.tool_calls:
                out["tool_calls"] = [call.model_dump() for call in message.tool_calls]
            return encode(out)


def _content(content: ChatContent) -> Content:
    if isinstance(content, str):
        return content
    texts = [part.text for part in content if isinstance(part, ChatText)]
    if len(texts) == len(content):
        return "\n".join(texts)
    parts: list[ContentItem] = [
        TextItem(text=part.text)
        if isinstance(part, ChatText)
        else ImageItem(image=ImageData(url=Url(uri=part.image_url.url)))
        for part in content
    ]
    return parts


# -------------------------------------------------------------------------------------------- answers


@dataclass(slots=True)
class AgentAnswer:
    """Turns the entries of a turn's response into the choices of chunks, and knows how it ended."""

    ended: TurnEnded | TurnAwaiting | None = None
    usage: Usage = field(default_factory=Usage)
    _texts: list[str] = field(default_factory=list)
    _text_step: int | None = None
    _calls: list[tuple[int, StepStarted]] = field(default_factory=list)

    def deltas(self, entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
        """Yield what these entries add to the message."""
        for entry in entries:
            if isinstance(entry, Delta):
                yield from self._delta(entry)
            else:
                yield from self._event(entry)

    def _delta(self, delta: Delta) -> Iterator[dict[str, Any]]:
        if delta.channel == "reasoning":
            yield {"reasoning_content": delta.text}
        elif delta.channel == "text":
            yield {"content": self._add(delta.text, delta.step)}

    def _add(self, text: str, step: int) -> str:
        if self._texts and step != self._text_step:
            text = BETWEEN_ROUNDS + text
        self._texts.append(text)
        self._text_step = step
        return text

    def _event(self, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case StepStarted(status="awaiting_input"):
                self._calls.append((event.step, event))
            case StepEnded() if event.usage:
                self.usage += event.usage
            case TurnAwaiting():
                self.ended = event
                yield {"tool_calls": [_call(index, *call) for index, call in enumerate(self._calls)]}
            case TurnEnded():
                self.ended = event
                yield from self._rest(event)

    def _rest(self, event: TurnEnded) -> Iterator[dict[str, Any]]:
        """Yield the answer where it is another than what was typed, as that of a shield is."""
        text = text_of(event.output_message.content) if event.output_message else ""
        if text and not "".join(self._texts).endswith(text):
            yield {"content": self._add(text, -1)}

    @property
    def finish_reason(self) -> str:
        if isinstance(self.ended, TurnAwaiting):
            return "tool_calls"
        return "length" if isinstance(self.ended, TurnEnded) and self.ended.reason == "out_of_tokens" else "stop"


def _call(index: int, step: int, event: StepStarted) -> dict[str, Any]:
    assert event.detail is not None  # a waiting step has its call
    call = event.detail.tool_calls[0]
    arguments = call.arguments_json
    if arguments is None:
        arguments = call.arguments if isinstance(call.arguments, str) else encode(call.arguments).decode()
    function = {"name": call.tool_name, "arguments": arguments}
    return {"index": index, "id": ids.part(CALL_PREFIX, Kind.STEP, step), "type": "function", "function": function}


def choice(delta: dict[str, Any], finish: str | None = None) -> list[dict[str, JSON]]:
    """Return the choices of a chunk."""
    return [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]


def usage_of(answer: AgentAnswer) -> dict[str, JSON]:
    """Return the tokens of an answer, all inferences together."""
    return usage_json(answer.usage)
