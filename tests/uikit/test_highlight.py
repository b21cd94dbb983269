"""Where searched words are marked: as the index finds them, and the text itself unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.query.parser import parse
from agents.uikit.highlight import NO_PHRASES, search_phrases, text_parts


def marked(query: str, text: str) -> list[str]:
    """What of an answer is marked under a query."""
    wanted = search_phrases(parse(query, now_us=0)).output
    return [piece for piece, hit in text_parts(text, wanted) if hit]


@pytest.mark.parametrize(
    ("query", "text", "hits"),
    [
        ("refund", "A Refund, refunded; REFUND!", ["Refund", "REFUND"]),
        ("refund*", "A Refund, refunded", ["Refund", "refunded"]),
        ('"refund policy"', "refund of the refund-policy", ["refund-policy"]),
        ("straße", "Hauptstrasse STRASSE Straße", ["STRASSE", "Straße"]),
        ("合成", "找合成燃料", ["合成"]),
        ("चाय", "गरम चाय", ["चाय"]),
        ("refund OR order", "an order, a refund", ["order", "refund"]),
        ("-refund", "a refund", []),
        ("in:refund", "a refund", []),
        ("out:refund", "a refund", ["refund"]),
        ("status:failed", "failed", []),
    ],
)
def test_it_marks_what_was_searched_for(query: str, text: str, hits: list[str]) -> None:
    assert marked(query, text) == hits


def test_it_marks_asked_and_answered_words_apart() -> None:
    wanted = search_phrases(parse("in:kettle out:refund error:timeout", now_us=0))
    assert [phrase.tokens for phrase in wanted.input] == [("kettle",)]
    assert [phrase.tokens for phrase in wanted.output] == [("refund",)]
    assert [phrase.tokens for phrase in wanted.error] == [("timeout",)]


def test_it_marks_nothing_without_a_query() -> None:
    assert search_phrases(None) == NO_PHRASES
    assert text_parts("a refund", NO_PHRASES.input) == [("a refund", False)]


@given(st.text(max_size=80), st.sampled_from(["a*", "refund", '"a b"', "合成", "é*"]))
def test_it_never_changes_the_text(text: str, query: str) -> None:
    wanted = search_phrases(parse(query, now_us=0)).input
    assert "".join(piece for piece, _ in text_parts(text, wanted)) == text
