"""Texts as pieces: each can be put together again, and time is bounded."""

from __future__ import annotations

import time

import pytest

from agents.uikit.text_diff import diff

HOSTILE = "<script>alert(1)</script> \x00 \u202e rtl"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("", ""),
        ("", "new"),
        ("old", ""),
        ("the cat sat\n on  the mat", "the dog sat\n on  a mat "),
        ("   ", " x "),
        (HOSTILE, HOSTILE + "!"),
        ("a\n" * 4000, "a\n" * 3999 + "b\n"),
        (" ".join(f"x{n}" for n in range(9000)), " ".join(f"y{n}" for n in range(9000))),
    ],
)
def test_both_texts_are_there(one: str, two: str) -> None:
    begun = time.process_time()
    found = diff(one, two)
    assert "".join(piece.text for piece in found if piece.op != "inserted") == one
    assert "".join(piece.text for piece in found if piece.op != "deleted") == two
    assert time.process_time() - begun < 2


def test_one_word_is_one_change() -> None:
    found = [(piece.op, piece.text) for piece in diff("the cat sat", "the dog sat")]
    assert found == [("same", "the"), ("deleted", " cat"), ("inserted", " dog"), ("same", " sat")]


def test_the_worst_of_words_takes_no_time() -> None:
    begun = time.process_time()
    diff("a b " * 1200, "b a " * 1200)
    assert time.process_time() - begun < 2
