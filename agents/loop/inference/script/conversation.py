"""Parses the messages of a request as far as a scripted model needs them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agents.loop.inference.script.actions import ImpossibleAction
from agents.record.schemas.compaction import INTRODUCTION, PROMPT

_QUOTED_CHARS = 400
_ROUNDS = re.compile(r"^Rounds of tools since then: (\d{1,6})\.$", re.MULTILINE)


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
    ``word_count`` counts the words of all messages. ``is_to_be_summed_up`` says that they are followed by the request
    for a summary, which is none of them."""

    def __init__(self, encoded: Sequence[bytes]) -> None:
        messages = [_decode(number, text) for number, text in enumerate(encoded)]
        self.is_to_be_summed_up = bool(messages) and messages[-1].text == PROMPT
        messages = messages[:-1] if self.is_to_be_summed_up else messages
        question_index = max((index for index, message in enumerate(messages) if _asks(message)), default=-1)
        self.question = messages[question_index].text if question_index >= 0 else ""
        self.earlier_messages = [
            message for message in messages[: max(question_index, 0)] if message.role in ("user", "assistant")
        ]
        self.later_messages = messages[question_index + 1 :]
        self.word_count = sum(len(message.text.split()) for message in messages)

    @property
    def round(self) -> int:
        """The number of the model's messages with tool calls since the question, also of those that a summary stands
        for."""
        summed_up = sum(int(found[1]) for message in self.later_messages if (found := _ROUNDS.search(message.text)))
        return summed_up + sum(
            1 for message in self.later_messages if message.role == "assistant" and message.tool_calls
        )

    @property
    def summary(self) -> str:
        """A summary from which a script goes on where it is."""
        return f"The question was: {self.question[:_QUOTED_CHARS]}\nRounds of tools since then: {self.round}."

    @property
    def results(self) -> list[tuple[str, str]]:
        """(tool name, text) of the tool results since the question, in order."""
        names = {call.id: call.function.name for message in self.later_messages for call in message.tool_calls or ()}
        answers = [message for message in self.later_messages if message.role == "tool"]
        return [(names.get(answer.tool_call_id or "", "tool"), answer.text) for answer in answers]


def _asks(message: ChatMessage) -> bool:
    """Whether a message is one of the user, and not a summary."""
    return message.role == "user" and not message.text.startswith(INTRODUCTION)


def _decode(number: int, encoded: bytes) -> ChatMessage:
    try:
        return _read(encoded)
    except (ValueError, RecursionError) as error:
        raise UnreadableMessage(f"message {number} cannot be read: {error}") from None
