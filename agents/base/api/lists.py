"""Encodes the lists of OpenAI's API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from django.http.response import HttpResponseBase

from agents.base.api import large_answers

encode = msgspec.json.encode

JsonChunks = Iterable[bytes]
"""A value as JSON, in chunks."""


def list_json(
    values: Iterable[JsonChunks], names: Sequence[str], *, has_more: bool, weight: int = 0
) -> HttpResponseBase:
    """Build ``{"object": "list", "data": […], "first_id", "last_id", "has_more"}`` from objects as JSON, which are
    about ``weight`` bytes together. The ids of an empty list are null."""
    first, last = (names[0], names[-1]) if names else (None, None)
    tail = b'],"first_id":%b,"last_id":%b,"has_more":%b}' % (encode(first), encode(last), encode(has_more))
    return large_answers.answer(weight, array(b'{"object":"list","data":[', values, tail))


def array(head: bytes, values: Iterable[JsonChunks], tail: bytes) -> Iterator[bytes]:
    """Join values with commas, between ``head`` and ``tail``."""
    yield head
    for position, chunks in enumerate(values):
        yield b"," if position else b""
        yield from chunks
    yield tail
