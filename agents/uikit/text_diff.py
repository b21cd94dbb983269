"""Two texts as pieces that are in both or in one: by words, long ones by lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from agents.base.schemas.wire import WireOutput

WORDS = 2_500
"""Words, or lines, of one text that are compared with those of the other."""

_WORDS = re.compile(r"\s*\S+|\s+\Z")


def pieces(first: str, second: str, most: int = WORDS) -> list[Piece]:
    """The pieces in order: those of the first text are the same and the deleted ones, of the second the same
    and the inserted ones. Where more than ``most`` words and lines lie between the ends that are the same,
    all of that is told as changed."""
    if first == second:
        return [Piece(op="same", text=first)] if first else []
    for split in (_WORDS.findall, _lines):
        one, two = split(first), split(second)
        head, tail = _ends(one, two)
        middle = one[head : len(one) - tail], two[head : len(two) - tail]
        if max(map(len, middle)) <= most:
            begin, end = one[:head], one[len(one) - tail :]
            return _joined([("same", begin), *_differences(*middle), ("same", end)])
    return _joined(
        [("same", one[:head]), ("deleted", middle[0]), ("inserted", middle[1]), ("same", one[len(one) - tail :])]
    )


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _ends(one: Sequence[str], two: Sequence[str]) -> tuple[int, int]:
    """How many words are the same from the start, and of the others from the end."""
    shorter = min(len(one), len(two))
    head = next((place for place in range(shorter) if one[place] != two[place]), shorter)
    rest = shorter - head
    return head, next((place for place in range(rest) if one[-1 - place] != two[-1 - place]), rest)


def _differences(one: Sequence[str], two: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    for op, start, end, from_, to in SequenceMatcher(None, one, two).get_opcodes():
        if op == "equal":
            yield "same", one[start:end]
        else:
            yield "deleted", one[start:end]
            yield "inserted", two[from_:to]


def _joined(found: Sequence[tuple[str, Sequence[str]]]) -> list[Piece]:
    """Neighbours of one kind as one piece; what is empty is left out."""
    out: list[tuple[str, str]] = []
    for op, words in found:
        text = "".join(words)
        if text and out and out[-1][0] == op:
            out[-1] = op, out[-1][1] + text
        elif text:
            out.append((op, text))
    return [Piece(op=op, text=text) for op, text in out]


class Piece(WireOutput):
    """Of a text: ``same`` in both, or ``deleted`` (in the first only), or ``inserted`` (in the second)."""

    op: Literal["same", "deleted", "inserted"]
    text: str
