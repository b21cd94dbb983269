"""The items of a stream that a model is still writing: its message, and its reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.record.schemas.chunked_text import ChunkedText
from agents.responses.wire import citations
from agents.responses.wire import responses as wire
from agents.responses.wire.responses import JSON, encode

if TYPE_CHECKING:  # the stream opens them
    from agents.responses.wire.stream import ResponseStream


class OpenMessage:
    """An open message, to which text is added."""

    def __init__(self, stream: ResponseStream, step: int) -> None:
        self._stream, self._step = stream, step
        self._reader = citations.CitationReader() if stream.head.cites else None
        self._text = ChunkedText()
        self._logprobs: list[JSON] = []
        self._unsent: list[JSON] = []
        item = wire.message_item(step, None, (), "in_progress")
        self._index = stream.begin_item(item)
        self._fields = b'"item_id":"%b","output_index":%d,"content_index":0' % (item["id"].encode(), self._index)
        self._send_part(b"added", wire.text_part(""))

    def _send_part(self, phase: bytes, part: JSON) -> None:
        fields = b'%b,"part":%b,%b' % (self._fields, encode(part), self._stream.of_response)
        self._stream.send(b"response.content_part." + phase, fields)

    def add_text(self, text: str, logprobs: Sequence[JSON] = ()) -> None:
        """Add text; the probabilities of tokens that are held back wait for the text that is sent next."""
        if logprobs:
            self._unsent += logprobs
        if self._reader is not None:
            text = self._reader.take(text)
        if text:
            self._text.append(text)
            unsent = encode(self._unsent) if self._unsent else b"[]"
            fields = self._fields, encode(text), unsent
            self._stream.send(b"response.output_text.delta", b'%b,"delta":%b,"logprobs":%b' % fields)
            if self._unsent:
                self._logprobs += self._unsent
                self._unsent = []

    def close(self, status: str, item: JSON | None = None) -> None:
        if self._reader is not None and (buffered := self._reader.flush()):
            self._reader = None
            self.add_text(buffered)
        self._logprobs += self._unsent
        item = item or wire.message_item(self._step, str(self._text), (), status, self._logprobs)
        [part] = item["content"]
        for number, annotation in enumerate(part["annotations"]):
            fields = b'%b,"annotation_index":%d,"annotation":%b' % (self._fields, number, encode(annotation))
            self._stream.send(b"response.output_text.annotation.added", fields)
        done = b'%b,"text":%b,"logprobs":%b' % (self._fields, encode(part["text"]), encode(part["logprobs"]))
        self._stream.send(b"response.output_text.done", done)
        self._send_part(b"done", part)
        self._stream.end_item(self._index, item)


class OpenReasoning:
    """An open reasoning item, to which text is added."""

    def __init__(self, stream: ResponseStream, step: int) -> None:
        self._stream, self._step = stream, step
        self._text = ChunkedText()
        item = wire.reasoning_item(step, "", "in_progress")
        self._index = stream.begin_item(item)
        place = b'"item_id":"%b","output_index":%d' % (item["id"].encode(), self._index)
        self._fields, self._summary_fields = b'%b,"content_index":0' % place, b'%b,"summary_index":0' % place
        self._summarizes = stream.head.summarizes

    def add_text(self, text: str, logprobs: Sequence[JSON] = ()) -> None:
        if self._summarizes and not self._text.size:
            self._send_summary(b"response.reasoning_summary_part.added", b"part", _summary(""))
        self._text.append(text)
        self._stream.send(b"response.reasoning_text.delta", b'%b,"delta":%b' % (self._fields, encode(text)))
        if self._summarizes:
            self._send_summary(b"response.reasoning_summary_text.delta", b"delta", text)

    def _send_summary(self, kind: bytes, name: bytes, value: JSON | str) -> None:
        self._stream.send(kind, b'%b,"%b":%b' % (self._summary_fields, name, encode(value)))

    def close(self, status: str, item: JSON | None = None) -> None:
        item = item or wire.reasoning_item(self._step, str(self._text), status)
        text = item["content"][0]["text"] if item["content"] else ""
        if text and not self._text.size:
            self.add_text(text)  # it arrived after text, and is sent complete
        self._stream.send(b"response.reasoning_text.done", b'%b,"text":%b' % (self._fields, encode(text)))
        if self._summarizes and text:
            self._send_summary(b"response.reasoning_summary_text.done", b"text", text)
            self._send_summary(b"response.reasoning_summary_part.done", b"part", _summary(text))
        self._stream.end_item(self._index, item)


def _summary(text: str) -> JSON:
    return {"type": "summary_text", "text": text}
