"""Protobuf's frames, looked at before anything is made of them.

A message of twenty megabytes may hold ten million empty ones, each of which costs a hundred bytes once it is
parsed. So the few outer levels are walked here, what they hold is parsed one by one, and what is large is
weighed first. Source: the wire format of protobuf (tag, length, bytes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agents.base.errors import InvalidRequest, TooLarge

MAX_MESSAGES = 100_000
"""Fields of one body that are looked at, at most; those in small messages are not."""
SMALL_BYTES = 64 * 1024
"""Bytes of a message that costs little, whatever is in it."""
_FIXED = {1: 8, 5: 4}

Schema = Mapping[tuple[str, int], str]
"""By a message's kind and a field's number: the kind of message that stands there."""


class Budget:
    """How much a body may still hold."""

    def __init__(self, most: int = MAX_MESSAGES) -> None:
        self.limit = self.remaining = most

    def take(self) -> None:
        self.remaining -= 1
        if self.remaining < 0:
            raise TooLarge(f"The body holds more than {self.limit:,} messages; send it in several.")


def incomplete_message() -> InvalidRequest:
    return InvalidRequest("The body is no complete protobuf message of OTLP.", code="invalid_body")


def delimited_fields(data: memoryview, budget: Budget, *numbers: int) -> Iterator[tuple[int, memoryview]]:
    """The fields with these numbers that have a length, in order. Raises InvalidRequest, TooLarge."""
    place, end = 0, len(data)
    while place < end:
        budget.take()
        tag, place = _varint(data, place)
        kind = tag & 7
        if kind == 2:
            size, place = _varint(data, place)
            if size > end - place:
                raise incomplete_message()
            if tag >> 3 in numbers:
                yield tag >> 3, data[place : place + size]
            place += size
        elif kind == 0:
            _, place = _varint(data, place)
        elif kind in _FIXED:
            place += _FIXED[kind]
        else:
            raise incomplete_message()


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, place
            shift += 7
            if shift > 63:
                raise incomplete_message()
    except IndexError:
        raise incomplete_message() from None


def count_messages(data: memoryview, kind: str, schema: Schema, budget: Budget) -> None:
    """Count what is in a message, if it is large. Raises TooLarge, InvalidRequest."""
    stack = [(data, kind)]
    while stack:
        message, of = stack.pop()
        if len(message) <= SMALL_BYTES:
            continue
        numbers = [number for known, number in schema if known == of]
        for number, inner in delimited_fields(message, budget, *numbers):
            stack.append((inner, schema[of, number]))
