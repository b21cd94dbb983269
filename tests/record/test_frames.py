"""Pieces of logs as messages: what arrives is what was sent, entry by entry, however small a message must be."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.record import frames
from agents.record.frames import Frame
from agents.record.schemas.events import START, Entry, position
from tests.loop.play import make_run, play
from tests.loop.test_loop import tool

SCRIPT = f"""think Hm, \u00fc\U0001f600.
say Let me look, and "quote" it.
call lookup {{"query": "{"x" * 3000}"}}
then
repeat 200 word
say {"long " * 400}"""


@pytest.fixture(scope="module")
def entries() -> Sequence[Entry]:
    return play(make_run(SCRIPT, server_tools=tool()))


@given(data=st.data(), max_bytes=st.integers(250, 8_000))
def test_a_frame_arrives_in_pieces_that_join(entries: Sequence[Entry], data: st.DataObject, max_bytes: int) -> None:
    first = data.draw(st.integers(0, len(entries) - 1))
    last = data.draw(st.integers(first, len(entries) - 1))
    before = position(entries[first - 1]) if first else START
    piece = entries[first : last + 1]
    end = position(piece[-1])
    sent = Frame(7, before, end, before, piece)
    messages = list(frames.encode([sent, Frame(8, end, end, end)], max_bytes))

    assert max(len(message.encode()) for message in messages) <= max_bytes
    *received, other = [frame for message in messages for frame in frames.decode(message)]
    assert other == Frame(8, end, end, end, [])
    assert [frame.before for frame in received] == [before, *(frame.end for frame in received[:-1])]
    assert received[-1].end == end
    for frame in received:
        between = [entry for entry in piece if frame.before < position(entry) <= frame.end]
        assert list(frame.entries) in (between, [])
        if not frame.entries:  # too large for any message
            assert len(between) == 1
            assert len(next(frames.encode([Frame(7, before, end, before, between)], 1 << 30))) > max_bytes


def test_tokens_of_one_text_travel_joined(entries: Sequence[Entry]) -> None:
    words = [entry for entry in entries if getattr(entry, "text", "").strip() == "word"]
    assert len(words) >= 199
    [message] = frames.encode([Frame(7, START, position(words[-1]), START, words)], 8_000)
    assert len(message) < 8 * len(words)
    [received] = frames.decode(message)
    assert received.entries == words
