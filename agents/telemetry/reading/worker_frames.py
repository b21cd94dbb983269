"""What the processes that read traces receive and send: frames, which are four bytes with the length, then the
content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
from msgspec import msgpack

from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.reading.prepared_turns import PreparedStep, PreparedTurn

_LENGTH = 4


class TraceSummary(msgspec.Struct, frozen=True, array_like=True):
    """The links of a large trace."""

    links: ConversationLinks


class TurnHead(msgspec.Struct, frozen=True, array_like=True):
    """A turn of a large trace without its steps, the same while it goes on, and the id and start time of each step, in
    microseconds."""

    turn: PreparedTurn
    beginning: PreparedTurn
    steps: list[tuple[str, int | None]]


class ReadTrace(msgspec.Struct, frozen=True, array_like=True):
    """A small trace that was read: its links and turns, and the number of its spans."""

    links: ConversationLinks
    turns: list[PreparedTurn]
    spans: int


class ReadFailure(msgspec.Struct, frozen=True, array_like=True):
    """The reason why a trace could not be read."""

    traceback: str


class SmallTrace(msgspec.Struct, frozen=True, array_like=True):
    """A trace that is to be read: its reports as (encoding, stored bytes), and how many spans they are said to have."""

    bodies: list[tuple[int, bytes]]
    reported: int


Answer = TraceSummary | TurnHead | list[PreparedStep] | ReadTrace | ReadFailure | None
_KINDS: dict[bytes, Any] = {
    b"l": TraceSummary,
    b"h": TurnHead,
    b"s": list[PreparedStep],
    b"t": ReadTrace,
    b"f": ReadFailure,
    b"e": None,
}
_TAGS = {TraceSummary: b"l", TurnHead: b"h", list: b"s", ReadTrace: b"t", ReadFailure: b"f", type(None): b"e"}


def _plain(value: Any) -> Any:
    """Encode a model of Pydantic's: its fields, at a third of what ``model_dump`` takes."""
    return value.__dict__


def _model(kind: Any, value: Any) -> Any:
    """Decode a model of Pydantic's, which was valid where it was encoded."""
    return kind.model_construct(**value)


_encode = msgpack.Encoder(enc_hook=_plain).encode
_DECODERS = {tag: msgpack.Decoder(kind, dec_hook=_model).decode for tag, kind in _KINDS.items()}
_encode_traces = msgpack.Encoder().encode
_decode_traces = msgpack.Decoder(list[SmallTrace]).decode


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(_LENGTH, "big") + body


END = frame(b"")
"""Ends the reports of a large trace, and all of a conversation's."""


def frames(stream: BinaryIO) -> Iterator[bytes]:
    """The contents of the next frames, up to an empty one or the end of the stream."""
    while size := int.from_bytes(stream.read(_LENGTH), "big"):
        yield stream.read(size)


def answer_frame(answer: Answer) -> bytes:
    """Encode an answer as a frame."""
    return frame(_TAGS[type(answer)] + _encode(answer))


def decode_answer(body: bytes) -> Answer:
    """Decode the content of a frame."""
    answer: Answer = _DECODERS[body[:1]](memoryview(body)[1:])
    return answer


def batch_frame(traces: list[SmallTrace]) -> bytes:
    """Encode traces that are to be read, at least one, as a frame."""
    return frame(_encode_traces(traces))


def decode_batch(body: bytes) -> list[SmallTrace]:
    return _decode_traces(body)
