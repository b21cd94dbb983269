"""What was said so far, as much of it as a scripted model understands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agents.loop.inference.script.actions import CannotAct


class _Part(msgspec.Struct):
    text: str | None = None


class _Function(msgspec.Struct):
    name: str


class _Call(msgspec.Struct):
    id: str
    function: _Function


class Message(msgspec.Struct):
    """A chat-completions message."""

    role: str
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.text)
        return self.content or ""


_read = msgspec.json.Decoder(Message).decode


class UnreadableMessage(CannotAct):
    """A message that is not one of chat completions; the text says which."""


class Conversation:
    """Messages, seen from the last one of the user: its ``question``; ``before``, what was said
    between user and model up to there; ``since``, the calls and results that followed."""

    def __init__(self, encoded: Sequence[bytes]) -> None:
        messages = [_decode(number, text) for number, text in enumerate(encoded)]
        asked = max((place for place, message in enumerate(messages) if message.role == "user"), default=-1)
        self.question = messages[asked].text if asked >= 0 else ""
        self.before = [message for message in messages[: max(asked, 0)] if message.role in ("user", "assistant")]
        self.since = messages[asked + 1 :]
        self.words = sum(len(message.text.split()) for message in messages)

    @property
    def rounds(self) -> int:
        """How often the model has called tools since the question."""
        return sum(1 for message in self.since if message.role == "assistant" and message.tool_calls)

    @property
    def results(self) -> list[tuple[str, str]]:
        """Tool name and text of what came back since the question, in order."""
        names = {call.id: call.function.name for message in self.since for call in message.tool_calls or ()}
        answers = [message for message in self.since if message.role == "tool"]
        return [(names.get(answer.tool_call_id or "", "tool"), answer.text) for answer in answers]


def _decode(number: int, encoded: bytes) -> Message:
    try:
        return _read(encoded)
    except (ValueError, RecursionError) as error:
        raise UnreadableMessage(f"message {number} cannot be read: {error}") from None
