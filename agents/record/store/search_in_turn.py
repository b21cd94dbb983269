"""Searching inside a turn: which of its steps hold some words.

The search index knows the beginning of every step; of a text that is too long for it the blocks are read,
for as long as the reader may be kept waiting. The caller has been let in to the turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Max, Min

from agents.query.tree import SearchPhrase
from agents.record.models.turns import Step, ValueBlock
from agents.record.store import large_values, search

MOST = 10_000
"""Steps that are counted."""
PATIENCE_S = 0.8
"""Seconds for texts that are not in the index."""


@dataclass(frozen=True, slots=True)
class StepMatches:
    """The numbers of the steps that hold all the words, in order; ``complete`` is off where not everything
    was looked at, or where there are more."""

    numbers: tuple[int, ...] = ()
    complete: bool = True


def steps_with(turn: int, asked: Sequence[SearchPhrase]) -> StepMatches:
    """The steps of a turn that hold all these phrases."""
    if not asked:
        return StepMatches()
    rows = Step.objects.unscoped("its turn is visible").filter(turn_id=turn)
    first, last = rows.aggregate(first=Min("pk"), last=Max("pk")).values()
    if first is None:
        return StepMatches()
    holding = rows
    for words in asked:
        holding = holding.filter(pk__in=search.containing("step", words, keys=(first, last + 1)))
    numbers = set(holding.order_by("number").values_list("number", flat=True)[: MOST + 1])
    further, complete = _in_blocks(turn, (first, last), asked)
    ordered = sorted(numbers | further)
    return StepMatches(tuple(ordered[:MOST]), complete and len(ordered) <= MOST)


def _in_blocks(turn: int, keys: tuple[int, int], asked: Sequence[SearchPhrase]) -> tuple[set[int], bool]:
    """The numbers of the steps with long texts that hold the words, and whether all were read."""
    until = time.monotonic() + PATIENCE_S
    starts = ValueBlock.objects.filter(step_id__gte=keys[0], step_id__lte=keys[1], position=0, step__turn_id=turn)
    missing = {words.text: _letters(words) for words in asked}
    left: dict[int, set[str]] = {}
    for step, number, part in starts.order_by("step_id", "part").values_list("step_id", "step__number", "part"):
        wanted = left.setdefault(number, set(missing))
        for name in sorted(wanted):
            place, finished = position(step, part, missing[name], 0, until)
            if place is not None:
                wanted.discard(name)
            if not finished:
                return {number for number, wanted in left.items() if not wanted}, False
    return {number for number, wanted in left.items() if not wanted}, True


def _letters(words: SearchPhrase) -> bytes:
    return words.text.lower().encode()


def position(step: int, part: int, wanted: bytes, start: int, until: float) -> tuple[int | None, bool]:
    """(the byte from ``start`` on at which a long text holds these letters in lower case, None where it does
    not; whether it was read to its end before the moment ``until`` of the monotonic clock)."""
    at, tail = start - start % large_values.BLOCK, b""
    for data in _blocks_from(step, part, at):
        text = tail + data.lower()
        place = text.find(wanted, max(start - at + len(tail), 0) if at <= start else 0)
        if place >= 0:
            return at - len(tail) + place, True
        at += len(data)
        tail = text[-len(wanted) + 1 :] if len(wanted) > 1 else b""
        if time.monotonic() > until:
            return None, False
    return None, True


def _blocks_from(step: int, part: int, start: int) -> Iterator[bytes]:
    position = start // large_values.BLOCK
    while data := large_values.block(step, part, position):
        yield data
        position += 1
