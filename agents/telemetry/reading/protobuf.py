"""Bounded walk over protobuf's fields, before anything is parsed.

A message of twenty megabytes may hold ten million empty ones, each of which costs a hundred bytes once it is
parsed. So the few outer levels are walked here, the messages in them are parsed one by one, and the content of large
messages is counted first. Source: the wire format of protobuf (tag, length, bytes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agents.base.errors import InvalidRequest, TooLarge

MAX_MESSAGES = 100_000
"""Fields of one body that are visited; those inside small messages are not."""
SMALL_BYTES = 64 * 1024
"""A message of this size costs little, whatever it holds."""
_FIXED = {1: 8, 5: 4}

Schema = Mapping[tuple[str, int], str]
"""The kind of message in a field, by the kind of the parent and the field's number."""


class MessageLimit:
    """The number of messages that a body may still hold."""

    def __init__(self, limit: int = MAX_MESSAGES) -> None:
        self.limit = self.remaining = limit

    def take(self) -> None:
        self.remaining -= 1
        if self.remaining < 0:
            raise TooLarge(f"The body holds more than {self.limit:,} messages; send it in several.")


def incomplete_message() -> InvalidRequest:
    return InvalidRequest("The body is no complete protobuf message of OTLP.", code="invalid_body")


def delimited_fields(data: memoryview, budget: MessageLimit, *numbers: int) -> Iterator[tuple[int, memoryview]]:
    """Iterate over the length-delimited fields with these numbers, in order. Raises InvalidRequest, TooLarge."""
    offset, end = 0, len(data)
    while offset < end:
        budget.take()
        tag, offset = _varint(data, offset)
        wire_type = tag & 7
        if wire_type == 2:
            size, offset = _varint(data, offset)
            if size > end - offset:
                raise incomplete_message()
            if tag >> 3 in numbers:
                yield tag >> 3, data[offset : offset + size]
            offset += size
        elif wire_type == 0:
            _, offset = _varint(data, offset)
        elif wire_type in _FIXED:
            offset += _FIXED[wire_type]
        else:
            raise incomplete_message()


def _varint(data: memoryview, offset: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while True:
            byte = data[offset]
            offset += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, offset
            shift += 7
            if shift > 63:
                raise incomplete_message()
    except IndexError:
        raise incomplete_message() from None


def count_messages(data: memoryview, kind: str, schema: Schema, budget: MessageLimit) -> None:
    """Count the messages inside a large message against the budget. Raises TooLarge, InvalidRequest."""
    stack = [(data, kind)]
    while stack:
        message, message_kind = stack.pop()
        if len(message) <= SMALL_BYTES:
            continue
        numbers = [number for parent_kind, number in schema if parent_kind == message_kind]
        for number, inner in delimited_fields(message, budget, *numbers):
            stack.append((inner, schema[message_kind, number]))
