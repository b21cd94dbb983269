"""Parses the messages of a request as far as a scripted model needs them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agents.loop.inference.script.actions import ImpossibleAction


class _Part(msgspec.Struct):
    text: str | None = None


class _Function(msgspec.Struct):
    name: str


class _Call(msgspec.Struct):
    id: str
    function: _Function


class ChatMessage(msgspec.Struct):
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


_read = msgspec.json.Decoder(ChatMessage).decode


class UnreadableMessage(ImpossibleAction):
    """A message that is not one of chat completions; the error's text has its number."""


class ChatHistory:
    """The messages of a request. ``question`` is the text of the user's last message, ``earlier_messages``
    are those of user and model before it, ``later_messages`` the calls and results after it, and
    ``word_count`` counts the words of all messages."""

    def __init__(self, encoded: Sequence[bytes]) -> None:
        messages = [_decode(number, text) for number, text in enumerate(encoded)]
        question_index = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
        self.question = messages[question_index].text if question_index >= 0 else ""
        self.earlier_messages = [
            message for message in messages[: max(question_index, 0)] if message.role in ("user", "assistant")
        ]
        self.later_messages = messages[question_index + 1 :]
        self.word_count = sum(len(message.text.split()) for message in messages)

    @property
    def round(self) -> int:
        """The number of the model's messages with tool calls since the question."""
        return sum(1 for message in self.later_messages if message.role == "assistant" and message.tool_calls)

    @property
    def results(self) -> list[tuple[str, str]]:
        """(tool name, text) of the tool results since the question, in order."""
        names = {call.id: call.function.name for message in self.later_messages for call in message.tool_calls or ()}
        answers = [message for message in self.later_messages if message.role == "tool"]
        return [(names.get(answer.tool_call_id or "", "tool"), answer.text) for answer in answers]


def _decode(number: int, encoded: bytes) -> ChatMessage:
    try:
        return _read(encoded)
    except (ValueError, RecursionError) as error:
        raise UnreadableMessage(f"message {number} cannot be read: {error}") from None
