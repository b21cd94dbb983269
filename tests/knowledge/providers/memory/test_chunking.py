"""Cutting texts: sizes, overlap, and characters that are one."""

from __future__ import annotations

import itertools
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.knowledge.providers.memory.chunking import chunks, count

ENGLISH = " ".join(f"The quick brown fox jumps over {number} lazy dogs." for number in range(100))
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"


def test_a_short_text_is_one_chunk() -> None:
    [piece] = chunks("  Kettles are blue.\n")

    assert (piece.text, piece.tokens) == ("Kettles are blue.", 5 + 1)
    assert chunks(" \n\t ") == chunks("") == []


def test_chunks_overlap_by_a_quarter() -> None:
    pieces = chunks(ENGLISH, size=64)

    assert all(piece.tokens <= 64 for piece in pieces)
    assert all(count(piece.text) <= 64 for piece in pieces)
    for one, other in itertools.pairwise(pieces):
        shared = max(n for n in range(1, len(other.text)) if one.text.endswith(other.text[:n]))
        assert 12 <= count(other.text[:shared]) <= 33


def test_nothing_is_lost() -> None:
    pieces = chunks(ENGLISH, size=64)
    at = 0
    for piece in pieces:
        found = ENGLISH.find(piece.text, max(at - 400, 0))
        assert 0 <= found <= at
        at = found + len(piece.text)
    assert ENGLISH[at:].strip() == ""


def test_english_has_about_four_characters_a_token() -> None:
    assert 2.5 < len(ENGLISH) / count(ENGLISH) < 4.5


def test_every_ideograph_is_a_token() -> None:
    assert count("東京の天気") == 5


@pytest.mark.parametrize("character", [FAMILY, FLAG, "e\u0301", "क्षि", "\u2764\ufe0f", "\U0001f44d\U0001f3fd"])
def test_what_is_one_character_is_never_cut(character: str) -> None:
    for piece in chunks(character * 500, size=16):
        assert len(piece.text) % len(character) == 0
        assert piece.text.startswith(character)


def test_a_blank_with_a_mark_on_it_is_kept() -> None:
    assert [piece.text for piece in chunks("0:0:00000:0:0\u03000 0 \u03000:00000", 16)][-1] == " \u03000:00000"


@pytest.mark.parametrize("piece", [FLAG, "\U0001f1e9\u200d", "\u0301", " ", "."])
def test_what_goes_on_without_end_is_cut_in_time(piece: str) -> None:
    """Half a million characters that are one: none that looks back to their beginning would come to an end."""
    began = time.process_time()
    pieces = chunks("z" + piece * (500_000 // len(piece)) + "z", size=64)
    assert time.process_time() - began < 5
    assert all(len(one.text) <= 64 * 128 for one in pieces)


def test_no_more_is_cut_than_asked_for() -> None:
    assert chunks(ENGLISH, size=64, limit=3) == chunks(ENGLISH, size=64)[:3]


@given(text=st.text(max_size=400), size=st.integers(16, 40))
@settings(max_examples=200, deadline=None)
def test_any_text_is_cut(text: str, size: int) -> None:
    pieces = chunks(text, size)

    assert "".join(text.split()) == "" or pieces
    assert all(piece.text in text and piece.text.strip() for piece in pieces)
    assert all(unicodedata.category(piece.text[0])[0] != "M" for piece in pieces if text.strip()[0] != piece.text[0])
