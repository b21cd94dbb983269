"""The words of a document as PostgreSQL takes them."""

from __future__ import annotations

import pytest

from agents.record.store.search import vector


@pytest.mark.parametrize(
    ("tokens", "written"),
    [
        ("", ""),
        ("kettle", "'kettle':1"),
        ("on  the shelf", "'on':1 'the':2 'shelf':3"),
        ("x" * 501 + " y", f"'{'x' * 500}':1 'y':2"),
    ],
)
def test_each_word_has_its_position(tokens: str, written: str) -> None:
    assert vector(tokens) == written


def test_words_behind_the_last_position_stand_at_it() -> None:
    assert vector("a " * 16_385).split()[-3:] == ["'a':16383"] * 3
