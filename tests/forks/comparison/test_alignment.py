"""Sequences side by side: every place once and in order, one insertion as one insertion."""

from __future__ import annotations

import random
import time

import pytest

from agents.forks.comparison.alignment import Element, Pair, align


def elements(text: str) -> list[Element]:
    """``a1 a2 b1``: kind and key; the same kind answers to each other."""
    return [Element(word, word[0], frozenset(word)) for word in text.split()]


def pairs(first: str, second: str, **more: int) -> list[Pair]:
    return list(align(elements(first), elements(second), **more).pairs)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", []),
        ("a1", "a1", [(0, 0)]),
        ("a1 b1 a2", "a1 b1 b2 a2", [(0, 0), (1, 1), (None, 2), (2, 3)]),
        ("a1 b1 b2 a2", "a1 b2 a2", [(0, 0), (1, None), (2, 1), (3, 2)]),
        ("a1 b1 a2", "a1 b9 a2", [(0, 0), (1, 1), (2, 2)]),
        ("a1 b1 a2", "a1 c1 a2", [(0, 0), (1, None), (None, 1), (2, 2)]),
        ("", "a1 b1", [(None, 0), (None, 1)]),
        ("a1 b1", "", [(0, None), (1, None)]),
    ],
)
def test_what_answers_to_what(first: str, second: str, expected: list[Pair]) -> None:
    found = pairs(first, second)
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_one_inserted_call_is_one_insertion_among_many_that_are_alike() -> None:
    first = ["i1", *(f"t{number % 3}" for number in range(40)), "i2"]
    for place in range(1, 41):
        second = [*first[:place], "t9", *first[place:]]
        found = pairs(" ".join(first), " ".join(second))
        assert [pair for pair in found if None in pair] == [(None, place)]


@pytest.mark.parametrize("cells", [250_000, 0])
def test_every_place_comes_once_and_in_order(cells: int) -> None:
    chance = random.Random(8)
    for _ in range(300):
        one, two = (
            " ".join(chance.choice(("a1", "a2", "b1", "b2", "c1")) for _ in range(chance.randrange(12))) for _ in "ab"
        )
        found = pairs(one, two, cells=cells)
        assert [pair[0] for pair in found if pair[0] is not None] == list(range(len(one.split())))
        assert [pair[1] for pair in found if pair[1] is not None] == list(range(len(two.split())))


def test_too_much_is_paired_in_order_and_says_so() -> None:
    first = [Element(number, "t", frozenset(str(number))) for number in range(2000)]
    second = [Element(-number - 1, "t", frozenset(str(number))) for number in range(2000)]
    begun = time.process_time()
    found = align(first, second)
    assert found.in_order
    assert len(found.pairs) == 2000
    assert time.process_time() - begun < 2
    assert not align(first, first).in_order
