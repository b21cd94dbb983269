"""A comparison of two turns as text: what differs, and of that only the words that differ with a few around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agents.base import ids
from agents.forks.schemas.comparison import Comparison, Difference, StepPair, StepSide, TextDifference
from agents.uikit.text_diff import DiffPart

CONTEXT_CHARS = 60
"""Characters around a change that are the same in both texts."""
CHANGE_CHARS = 400
"""Characters of what only one of the texts has: all of it can be read in its turn."""


def chunks(comparison: Comparison) -> Iterator[str]:
    """Yield the comparison in chunks: the turns, their settings and texts, then their steps in order."""
    first, second = (ids.public(ids.Kind.TURN, row.id) for row in (comparison.a, comparison.b))
    yield f"a = turn {first} ({comparison.a.status}), b = turn {second} ({comparison.b.status})\n"
    if comparison.fork is not None:
        yield f"{'a' if comparison.fork == comparison.a.id else 'b'} is a fork of the other.\n"
    for title, differences in (("outcome", comparison.facts), ("settings", comparison.parameters)):
        yield from _values(title, differences)
    yield from _texts(comparison.texts, "")
    counts = comparison.counts
    yield (
        f"steps: {counts.same} the same, {counts.changed} changed, {counts.deleted} only in a, "
        f"{counts.inserted} only in b\n"
    )
    for pair in comparison.steps:
        yield from _pair(pair)
    if comparison.left_out:
        yield f"{comparison.left_out} steps were not compared.\n"


def _values(title: str, differences: Sequence[Difference]) -> Iterator[str]:
    changed = [difference for difference in differences if not difference.same]
    if not changed:
        yield f"{title}: the same\n"
        return
    yield f"{title}:\n"
    for difference in changed:
        change = f" ({difference.change:+,g})" if difference.change is not None else ""
        yield f"  {difference.name}: a {_value(difference.a)} → b {_value(difference.b)}{change}\n"


def _value(value: Any) -> str:
    return "none" if value is None else str(value)


def _pair(pair: StepPair) -> Iterator[str]:
    sides = ", ".join(_side(letter, side) for letter, side in (("a", pair.a), ("b", pair.b)) if side)
    words = {"same": "same", "changed": "changed", "deleted": "only in a", "inserted": "only in b"}
    yield f"{words[pair.kind]}: {pair.type} {sides}\n"
    for difference in pair.values:
        yield f"  {difference.name}: a {_value(difference.a)} → b {_value(difference.b)}\n"
    if pair.kind == "changed":
        yield from _texts(pair.texts, "  ")


def _side(letter: str, side: StepSide) -> str:
    return f"{letter} no. {side.place} {side.name} {side.status} step {ids.public(ids.Kind.STEP, side.id)}"


def _texts(texts: Sequence[TextDifference], indent: str) -> Iterator[str]:
    for text in texts:
        if text.same:
            yield f"{indent}{text.name}: the same\n"
            continue
        yield f"{indent}{text.name} ([-only in a-], {{+only in b+}}): "
        yield from map(_piece, text.pieces)
        yield f"{' [it is longer, and was compared by its beginning]' if text.cut else ''}\n"


def _piece(piece: DiffPart) -> str:
    match piece.op:
        case "deleted":
            return f"[-{_shortened(piece.text, CHANGE_CHARS)}-]"
        case "inserted":
            return f"{{+{_shortened(piece.text, CHANGE_CHARS)}+}}"
        case _:
            return _shortened(piece.text, 2 * CONTEXT_CHARS)


def _shortened(text: str, size: int) -> str:
    """Leave out the middle of a long text."""
    if len(text) <= size + 40:
        return text
    return f"{text[: size // 2]} … [{len(text) - size:,} characters] … {text[-(size // 2) :]}"
