"""Finds the steps of a turn that contain given phrases.

The search index has the beginning of every step; of longer texts the blocks are read, for at most
`TIME_LIMIT_S`. The caller has checked that the turn is visible.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Max, Min

from agents.query.tree import SearchPhrase
from agents.record.models.turns import Step, ValueBlock
from agents.record.store import large_values, search

MAX_STEPS = 10_000
"""Most steps that are returned."""
TIME_LIMIT_S = 0.8
"""Seconds for texts that are not in the index."""


@dataclass(frozen=True, slots=True)
class StepMatches:
    """The numbers of the matching steps, in order; ``complete`` is false where not everything was searched, or where
    there are more."""

    numbers: tuple[int, ...] = ()
    complete: bool = True


def steps_with(turn: int, phrases: Sequence[SearchPhrase]) -> StepMatches:
    """Find the steps of a turn that contain all these phrases."""
    if not phrases:
        return StepMatches()
    rows = Step.objects.unscoped("its turn is visible").filter(turn_id=turn)
    first, last = rows.aggregate(first=Min("pk"), last=Max("pk")).values()
    if first is None:
        return StepMatches()
    holding = rows
    for phrase in phrases:
        holding = holding.filter(pk__in=search.containing("step", phrase, keys=(first, last + 1)))
    numbers = set(holding.order_by("number").values_list("number", flat=True)[: MAX_STEPS + 1])
    in_blocks, complete = _in_blocks(turn, (first, last), phrases)
    ordered = sorted(numbers | in_blocks)
    return StepMatches(tuple(ordered[:MAX_STEPS]), complete and len(ordered) <= MAX_STEPS)


def _in_blocks(turn: int, keys: tuple[int, int], phrases: Sequence[SearchPhrase]) -> tuple[set[int], bool]:
    """Return the numbers of the steps whose long texts contain the phrases, and whether all were read."""
    until = time.monotonic() + TIME_LIMIT_S
    starts = ValueBlock.objects.filter(step_id__gte=keys[0], step_id__lte=keys[1], position=0, step__turn_id=turn)
    needles = {phrase.text: _needle(phrase) for phrase in phrases}
    missing_by_step: dict[int, set[str]] = {}
    for step, number, part in starts.order_by("step_id", "part").values_list("step_id", "step__number", "part"):
        missing = missing_by_step.setdefault(number, set(needles))
        for name in sorted(missing):
            offset, finished = find_in_text(step, part, needles[name], 0, until)
            if offset is not None:
                missing.discard(name)
            if not finished:
                return {number for number, wanted in missing_by_step.items() if not wanted}, False
    return {number for number, wanted in missing_by_step.items() if not wanted}, True


def _needle(phrase: SearchPhrase) -> bytes:
    return phrase.text.lower().encode()


def find_in_text(step: int, part: int, needle: bytes, start: int, until: float) -> tuple[int | None, bool]:
    """Search a long text, in lower case, from byte ``start`` on. Returns (the offset of the first match or None,
    whether the search ended before the time ``until`` of the monotonic clock)."""
    at, tail = start - start % large_values.BLOCK, b""
    for data in _blocks_from(step, part, at):
        text = tail + data.lower()
        offset = text.find(needle, max(start - at + len(tail), 0) if at <= start else 0)
        if offset >= 0:
            return at - len(tail) + offset, True
        at += len(data)
        tail = text[-len(needle) + 1 :] if len(needle) > 1 else b""
        if time.monotonic() > until:
            return None, False
    return None, True


def _blocks_from(step: int, part: int, start: int) -> Iterator[bytes]:
    position = start // large_values.BLOCK
    while data := large_values.block(step, part, position):
        yield data
        position += 1
