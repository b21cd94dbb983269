"""Server-sent events, wherever the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.loop.inference.chat.sse import MAX_EVENT_BYTES, EventSplitter, EventTooLarge

STREAMS = [
    (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
    (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
    (b"data: a\r\n\n\r\ndata: b\n\r\n", [b"a", b"b"]),
    (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
    (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
    (b"data: a\ndata\ndata: b\n\n", [b"a\n\nb"]),
    (b"event: message\nid: 7\nretry: 10\ndata: a\nodd\n\n", [b"a"]),
    (b": comment\n\n:\n\ndata: a\n: in between\n\n", [b"a"]),
    (b"\n\n\n\ndata: a\n\n\n\n\n", [b"a"]),
    (b"data: \n\ndata:\n\ndata: a\n\n", [b"a"]),
    (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
    ("data: 日本 🦙\n\n".encode(), ["日本 🦙".encode()]),
    (b"data: a: b\n\ndatax: c\n\n", [b"a: b"]),
    (b"data: a\n\ndata: unfinished", [b"a", b"unfinished"]),
    (b"data: a\n\ndata: unfinished\n", [b"a", b"unfinished"]),
    (b"", []),
]


def split(*pieces: bytes) -> list[bytes]:
    splitter = EventSplitter()
    return [data for piece in pieces for data in splitter.feed(piece)] + splitter.end()


@pytest.mark.parametrize(("stream", "events"), STREAMS)
def test_it_finds_the_same_events_at_every_cut(stream: bytes, events: list[bytes]) -> None:
    assert split(stream) == events
    assert split(*(stream[place : place + 1] for place in range(len(stream)))) == events
    for place in range(len(stream) + 1):
        assert split(stream[:place], stream[place:]) == events
        assert split(stream[:place], b"", stream[place:]) == events


@given(
    stream=st.binary(max_size=60) | st.text("da:t \r\n", max_size=60).map(str.encode),
    places=st.sets(st.integers(0, 60)),
)
def test_it_finds_the_same_in_noise_however_cut(stream: bytes, places: set[int]) -> None:
    bounds = [0, *sorted(place for place in places if place < len(stream)), len(stream)]
    pieces = [stream[low:high] for low, high in pairwise(bounds)]
    assert split(*pieces) == split(stream)


def test_it_hands_an_event_out_as_soon_as_it_is_whole() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: a\n") == []
    assert splitter.feed(b"\ndata: b\n") == [b"a"]
    assert splitter.feed(b"\ndata: c") == [b"b"]
    assert splitter.feed(b"\r") == []
    assert splitter.feed(b"\r") == [b"c"]


def test_it_refuses_an_event_without_end() -> None:
    splitter = EventSplitter()
    half = b"x" * (MAX_EVENT_BYTES // 2)
    assert splitter.feed(half) == splitter.feed(half) == []
    with pytest.raises(EventTooLarge):
        splitter.feed(b"x")
