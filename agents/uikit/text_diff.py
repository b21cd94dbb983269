"""Compare two texts by words, long ones by lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from agents.base.schemas.wire import WireOutput

MAX_PARTS = 2_500
"""Words, or lines, of one text that are compared with those of the other."""

_WORD = re.compile(r"\s*\S+|\s+\Z")


def diff(first: str, second: str, max_parts: int = MAX_PARTS) -> list[DiffPart]:
    """The parts of both texts in order: the same and the deleted ones are the first text, the same and the
    inserted ones the second. Where more than ``max_parts`` words and lines lie between the common ends,
    all of them count as changed."""
    if first == second:
        return [DiffPart(op="same", text=first)] if first else []
    for split in (_WORD.findall, _lines):
        first_parts, second_parts = split(first), split(second)
        head, tail = _common_ends(first_parts, second_parts)
        middle = first_parts[head : len(first_parts) - tail], second_parts[head : len(second_parts) - tail]
        if max(map(len, middle)) <= max_parts:
            begin, end = first_parts[:head], first_parts[len(first_parts) - tail :]
            return _join([("same", begin), *_differences(*middle), ("same", end)])
    return _join(
        [
            ("same", first_parts[:head]),
            ("deleted", middle[0]),
            ("inserted", middle[1]),
            ("same", first_parts[len(first_parts) - tail :]),
        ]
    )


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _common_ends(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """The length of the common start, and of the common end of what remains."""
    shorter = min(len(first), len(second))
    head = next((index for index in range(shorter) if first[index] != second[index]), shorter)
    remaining = shorter - head
    return head, next((index for index in range(remaining) if first[-1 - index] != second[-1 - index]), remaining)


def _differences(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    for op, start, end, from_, to in SequenceMatcher(None, first, second).get_opcodes():
        if op == "equal":
            yield "same", first[start:end]
        else:
            yield "deleted", first[start:end]
            yield "inserted", second[from_:to]


def _join(differences: Sequence[tuple[str, Sequence[str]]]) -> list[DiffPart]:
    """Join neighbours of one kind, and drop empty parts."""
    out: list[tuple[str, str]] = []
    for op, parts in differences:
        text = "".join(parts)
        if text and out and out[-1][0] == op:
            out[-1] = op, out[-1][1] + text
        elif text:
            out.append((op, text))
    return [DiffPart(op=op, text=text) for op, text in out]


class DiffPart(WireOutput):
    """A part of a text: ``same`` in both, ``deleted`` (only in the first) or ``inserted`` (only in the second)."""

    op: Literal["same", "deleted", "inserted"]
    text: str
