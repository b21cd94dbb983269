"""What a run sends to the model, and to shields: the history, this turn's input, and what has been said since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.loop.protocols.retrieval import PreparedDocuments
from agents.loop.protocols.shields import ShieldInput
from agents.loop.run import Run
from agents.record.schemas.compaction import after_compaction
from agents.record.schemas.content import (
    CompletionMessage,
    TurnMessage,
    text_of,
)
from agents.record.schemas.items import input_item, input_items, joined_calls, system_item


class RunMessages:
    """The messages of a run. ``message`` is the model's last one; ``heard`` is what the client sent while it ran.
    ``was_compacted`` is set until the next inference after a summary, ``tokens_left`` how many tokens the last summary
    left."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.message: CompletionMessage | None = None
        self.was_compacted = False
        self.tokens_left = 0
        self._items: list[bytes] = []
        self._retrieved_context = ""
        self._documents = PreparedDocuments()
        self.heard: list[TurnMessage] = []

    def set_context(self, context: str) -> None:
        """Set the text retrieved for this turn, which follows the last input message."""
        self._retrieved_context = context

    def set_documents(self, documents: PreparedDocuments) -> None:
        """Set the prepared documents of this turn, which follow the last input message too."""
        self._documents = documents

    def drop_older_history(self) -> bool:
        """Drop the older half of the history, up to a message of the user; returns False if nothing may be
        dropped."""
        history = self.run.history
        if not self.run.truncates or not history:
            return False
        middle = (len(history) + 1) // 2
        user_messages = (index for index in range(middle, len(history)) if history[index].startswith(b'{"role":"user"'))
        self.run = replace(self.run, history=history[next(user_messages, len(history)) :])
        return True

    def add_messages(self, messages: Sequence[TurnMessage]) -> None:
        """Add messages that the caller sent with its answers."""
        self._items += input_items(messages)

    def summed_up(self, summary: CompletionMessage) -> None:
        """Note that a summary stands for what came before; it is the answer where nothing else was asked for."""
        self.was_compacted = True
        if self.run.compaction is not None and self.run.compaction.is_only:
            self.message = summary

    def messages(self) -> list[bytes]:
        """Return the messages for the model: instructions, history, this turn's input, and its items so far."""
        run = self.run
        head = [system_item(run.instructions)] if run.instructions else []
        said = after_compaction([*run.history, *self._input_items(), *run.earlier, *self._items])
        return joined_calls([*head, *said])

    def _input_items(self) -> list[bytes]:
        messages = self.run.input_messages
        if not messages:
            return []
        context = "\n\n".join(filter(None, (self.run.context, self._documents.context, self._retrieved_context)))
        *earlier, last = messages
        return [*map(input_item, earlier), input_item(last, context, self._documents.images)]

    def texts(self) -> list[str]:
        """Return the texts so far: this turn's input and the answer."""
        texts = [text_of(message.content) for message in self.run.input_messages]
        return [*texts, text_of(self.message.content)] if self.message else texts

    def shield_input(self) -> list[ShieldInput]:
        """Return the messages for shields: this turn's input, with a tool's answer in it, and the model's last
        message."""
        messages = [*self.run.input_messages, *(self.run.resume.messages if self.run.resume else ()), *self.heard]
        inputs = [
            ShieldInput("user", text_of(message.content)) for message in messages if message.role in ("user", "tool")
        ]
        return [*inputs, ShieldInput("assistant", text_of(self.message.content))] if self.message else inputs
