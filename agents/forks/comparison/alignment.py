"""Two sequences laid side by side: what is in both, what was changed, what is in one only.

What is equal and there once in each is an anchor; between anchors the cheapest alignment is looked for
(Needleman and Wunsch, 1970). Where that would take too long, like is paired with like in order, and the
outcome says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Pair = tuple[int | None, int | None]
"""Places in the first and the second sequence; None where one has nothing."""

CELLS = 250_000
"""The largest table that is filled: about a quarter of a second."""
GAP = 1.0
"""What it costs that something is in one only; whatever is changed costs less than two of these."""


@dataclass(frozen=True, slots=True)
class Element:
    """``key``: equal elements have equal ones. Only elements of one ``kind`` answer to each other; ``words``
    tell how close they are."""

    key: object
    kind: object
    words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Alignment:
    """``in_order`` says that a part was too long to look for the cheapest alignment."""

    pairs: Sequence[Pair]
    in_order: bool = False


def align(first: Sequence[Element], second: Sequence[Element], cells: int = CELLS) -> Alignment:
    """The pairs in order, each place once."""
    pairs: list[Pair] = []
    in_order, start = False, (0, 0)
    for anchor in [*_anchors(first, second), (len(first), len(second))]:
        gap = (range(start[0], anchor[0]), range(start[1], anchor[1]))
        small = len(gap[0]) * len(gap[1]) <= cells
        cells -= len(gap[0]) * len(gap[1]) if small else 0
        in_order = in_order or not small
        pairs += (_cheapest if small else _in_order)(first, second, *gap)
        if anchor[0] < len(first):
            pairs.append(anchor)
        start = anchor[0] + 1, anchor[1] + 1
    return Alignment(pairs, in_order)


def _anchors(first: Sequence[Element], second: Sequence[Element]) -> list[tuple[int, int]]:
    """Equal elements at both ends, and between those the unique ones that keep their order."""
    head = 0
    while head < min(len(first), len(second)) and first[head].key == second[head].key:
        head += 1
    tail = 0
    while tail < min(len(first), len(second)) - head and first[-1 - tail].key == second[-1 - tail].key:
        tail += 1
    ends = (len(first) - tail, len(second) - tail)
    middle = _unique(first, second, range(head, ends[0]), range(head, ends[1]))
    return [
        *((place, place) for place in range(head)),
        *_increasing(middle),
        *((ends[0] + place, ends[1] + place) for place in range(tail)),
    ]


def _unique(first: Sequence[Element], second: Sequence[Element], one: range, two: range) -> list[tuple[int, int]]:
    here, there = (Counter(side[place].key for place in where) for side, where in ((first, one), (second, two)))
    places = {second[place].key: place for place in two if there[second[place].key] == 1}
    return [
        (place, places[first[place].key]) for place in one if here[first[place].key] == 1 and first[place].key in places
    ]


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of these pairs, in order of the first, that keep the order of the second too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        ends[at:] = [place, *ends[at + 1 :]]
        last[at:] = [number, *last[at + 1 :]]
        before.append(last[at - 1] if at else None)
    chain: list[tuple[int, int]] = []
    number_: int | None = last[-1] if last else None
    while number_ is not None:
        chain.append(pairs[number_])
        number_ = before[number_]
    return chain[::-1]


# ------------------------------------------------------------------------------------------ the gaps


def _cost(one: Element, two: Element) -> float:
    """What it costs to take one for the other; more than two gaps where that may not be."""
    if one.key == two.key:
        return 0.0
    if one.kind != two.kind:
        return 3 * GAP
    union = len(one.words | two.words)
    return 0.3 + 1.2 * (1 - (len(one.words & two.words) / union if union else 1.0))


def _cheapest(first: Sequence[Element], second: Sequence[Element], rows: range, columns: range) -> list[Pair]:
    table = _table(first, second, rows, columns)
    pairs: list[Pair] = []
    row, column = len(rows), len(columns)
    while row or column:
        step = table[row][column][1]
        row, column = row - (step != "insert"), column - (step != "delete")
        pairs.append((None if step == "insert" else rows[row], None if step == "delete" else columns[column]))
    return pairs[::-1]


def _table(
    first: Sequence[Element], second: Sequence[Element], rows: range, columns: range
) -> list[list[tuple[float, str]]]:
    """The cost of the cheapest alignment of each two beginnings, and its last step."""
    table = [[(column * GAP, "insert") for column in range(len(columns) + 1)]]
    for number, row in enumerate(rows, start=1):
        above, line = table[-1], [(number * GAP, "delete")]
        for place, column in enumerate(columns):
            taken = above[place][0] + _cost(first[row], second[column])
            line.append(
                min(
                    (taken, "both"), (above[place + 1][0] + GAP, "delete"), (line[place][0] + GAP, "insert"), key=_first
                )
            )
        table.append(line)
    return table


def _first(choice: tuple[float, str]) -> float:
    return choice[0]


def _in_order(first: Sequence[Element], second: Sequence[Element], rows: range, columns: range) -> list[Pair]:
    """Like with like, in order: each takes the next of its kind, if there is one within reach."""
    return list(_paired(first, second, rows, columns, reach=50))


def _paired(
    first: Sequence[Element], second: Sequence[Element], rows: range, columns: range, reach: int
) -> Iterator[Pair]:
    column = columns.start
    for row in rows:
        kind = first[row].kind
        near = range(column, min(column + reach, columns.stop))
        found = next((place for place in near if second[place].kind == kind), None)
        if found is None:
            yield row, None
            continue
        yield from ((None, place) for place in range(column, found))
        yield row, found
        column = found + 1
    yield from ((None, place) for place in range(column, columns.stop))
