"""The items of a stream that a model is still writing: its message, and its reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.openai_agents.wire import items as wire
from agents.record.schemas.chunked_text import ChunkedText

if TYPE_CHECKING:  # the stream opens them
    from agents.openai_agents.wire.stream import SessionStream

JSON = dict[str, Any]


class TypedMessage:
    """An open message, to which text is added."""

    def __init__(self, stream: SessionStream, turn: int, step: int) -> None:
        self._stream, self._turn, self._step = stream, turn, step
        self._text = ChunkedText()
        item = wire.assistant_item(turn, step, None, "in_progress")
        self.item_id: str = item["id"]
        self._place = {"item_id": self.item_id, "output_index": stream.add_item(item), "content_index": 0}
        stream.send_in_turn("content_part.added", {**self._place, "part": wire.output_text("")})
        self._head = stream.delta_head("output_text.delta", self._place)

    def add_text(self, text: str) -> None:
        self._text.append(text)
        self._stream.send_delta(self._head, text)

    def close(self, status: str, item: JSON | None = None) -> None:
        """End it with its final form; without one as it was typed."""
        item = item or wire.assistant_item(self._turn, self._step, str(self._text), status)
        text = item["content"][0]["text"]
        if text and not self._text.size:
            self.add_text(text)
        self._stream.send_in_turn("output_text.done", {**self._place, "text": text})
        self._stream.send_in_turn("content_part.done", {**self._place, "part": wire.output_text(text)})
        self._stream.end_item(item)


class TypedReasoning:
    """Open reasoning, whose words are its summary: there is nothing else that is shown of it."""

    def __init__(self, stream: SessionStream, turn: int, step: int) -> None:
        self._stream, self._turn, self._step = stream, turn, step
        self._text = ChunkedText()
        item = wire.reasoning_item(turn, step, None, "in_progress")
        self.item_id: str = item["id"]
        self._place = {"item_id": self.item_id, "output_index": stream.add_item(item), "summary_index": 0}
        stream.send_in_turn("reasoning_summary_part.added", {**self._place, "part": _summary("")})
        self._head = stream.delta_head("reasoning_summary_text.delta", self._place)

    def add_text(self, text: str) -> None:
        self._text.append(text)
        self._stream.send_delta(self._head, text)

    def close(self, status: str, item: JSON | None = None) -> None:
        """End it with its final form; without one as it was typed."""
        item = item or wire.reasoning_item(self._turn, self._step, str(self._text), status)
        text = item["summary"][0]["text"]
        if text and not self._text.size:
            self.add_text(text)
        self._stream.send_in_turn("reasoning_summary_text.done", {**self._place, "text": text})
        done = {**self._place, "part": _summary(text)}
        self._stream.send_in_turn("reasoning_summary_part.done", done)
        self._stream.end_item(item)


def _summary(text: str) -> JSON:
    return {"type": "summary_text", "text": text}
