"""The tokeniser: what is a word, and that an index splitting at blanks sees the same words."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base.tokenizer import MAX_WORD, fold, index_text, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n", []),
        ("Refund-Policy v2.1", ["refund", "policy", "v2", "1"]),
        ("web_search(query='x')", ["web_search", "query", "x"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΣΊΣΥΦΟΣ", ["σίσυφοσ"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("\uff26\uff4f\uff4f \u2460", ["foo", "1"]),
        ("退款政策 v2", ["退", "款", "政", "策", "v2"]),
        ("カタカナー・ひらがな", [*"カタカナー", *"ひらがな"]),
        ("한국어", [*"한국어"]),
        ("हिन्दी กินข้าว", ["हिन्दी", "กินข้าว"]),
        ("a\u00adb\u200bc😀d", ["a", "b", "c", "d"]),
        ("a\x00b\ud800c", ["a", "b", "c"]),
    ],
)
def test_it_finds_the_words(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected
    assert index_text(text) == " ".join(expected)


def test_it_reads_ascii_like_any_other_text() -> None:
    every = "".join(map(chr, range(128)))
    assert tokens(every) == tokens(every + "→")


@pytest.mark.parametrize("letter", ["x", "é"])
def test_it_cuts_a_word_that_would_outgrow_the_index(letter: str) -> None:
    assert tokens(f"a {letter * 9_000} b") == ["a", letter * MAX_WORD, "b"]


@given(st.text())
def test_it_changes_nothing_the_second_time(text: str) -> None:
    assert index_text(index_text(text)) == index_text(text)
    assert fold(fold(text)) == fold(text)


@given(st.lists(st.text(), max_size=20))
def test_an_index_that_splits_at_blanks_sees_the_same_words(texts: list[str]) -> None:
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE found USING fts5(body, tokenize=\"ascii tokenchars '_'\")")
    index.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(found, row)")
    index.executemany("INSERT INTO found VALUES (?)", [(index_text(text),) for text in texts])
    seen = {term for (term,) in index.execute("SELECT term FROM terms")}
    index.close()
    assert seen == {word for text in texts for word in tokens(text)}
