"""Events that are handed on as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base.errors import ProviderError
from agents.loop.inference.chat.endpoint_errors import EndpointErrors
from agents.loop.inference.chat.payload_stream import BYTES_PER_CHAR, PayloadStream

Build = Callable[..., Any]


def read(*parts: bytes, output_chars: int = 1000) -> tuple[list[bytes], PayloadStream]:
    stream = PayloadStream(EndpointErrors("lab", "sk-secret-key"), output_chars)
    found = [payload for part in parts for payload in stream.feed(part)]
    return [*found, *stream.end()], stream


def test_events_stay_as_they_are(sse: Build) -> None:
    odd = b'{"id" : 1.50,\t"own": [null], "choices": []}'
    found, stream = read(b"data: " + odd + b"\n\n", sse({"error": None}), sse("[DONE]", {"late": 1}))
    assert found == [odd, b'{"error":null}']
    assert (stream.started, stream.done) == (True, True)


def test_an_event_may_come_in_pieces_or_unended(sse: Build) -> None:
    whole = sse({"a": 1}, {"b": 2})
    found, stream = read(*(whole[place : place + 1] for place in range(len(whole) - 2)))
    assert found == [b'{"a":1}', b'{"b":2}']
    assert not stream.done


@pytest.mark.parametrize("event", ["tired", "[1]", '"x"', '{"a":'])
def test_what_is_no_object_is_a_fault(sse: Build, event: str) -> None:
    with pytest.raises(ProviderError, match="cannot be read"):
        read(sse(event))


def test_an_error_is_raised_without_the_key(sse: Build) -> None:
    with pytest.raises(ProviderError) as caught:
        read(sse({"error": {"message": "sk-secret-key is tired", "code": 503}}))
    assert caught.value.message == "lab broke off: [redacted] is tired"
    assert caught.value.upstream_status == 503


def test_an_answer_without_end_is_ended(sse: Build) -> None:
    with pytest.raises(ProviderError, match="without end"):
        read(*[sse({"x": "y" * 100})] * BYTES_PER_CHAR, output_chars=50)
