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

MAX_CELLS = 250_000
"""The largest table that is filled: about a quarter of a second."""
GAP = 1.0
"""What it costs that something is in one only; whatever is changed costs less than two of these."""


@dataclass(frozen=True, slots=True)
class Element:
    """``key``: equal elements have equal ones. Only elements of one ``kind`` answer to each other; ``words``
    tell how close they are."""

    key: object
    kind: object
    terms: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Alignment:
    """``in_order`` says that a part was too long to look for the cheapest alignment."""

    pairs: Sequence[Pair]
    in_order: bool = False


def align(first: Sequence[Element], second: Sequence[Element], cells: int = MAX_CELLS) -> Alignment:
    """The pairs in order, each place once."""
    pairs: list[Pair] = []
    in_order, start = False, (0, 0)
    for anchor in [*_anchors(first, second), (len(first), len(second))]:
        gap = (range(start[0], anchor[0]), range(start[1], anchor[1]))
        small = len(gap[0]) * len(gap[1]) <= cells
        cells -= len(gap[0]) * len(gap[1]) if small else 0
        in_order = in_order or not small
        pairs += (_cheapest_pairs if small else _pairs_in_order)(first, second, *gap)
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
        *((index, index) for index in range(head)),
        *_increasing(middle),
        *((ends[0] + index, ends[1] + index) for index in range(tail)),
    ]


def _unique(first: Sequence[Element], second: Sequence[Element], rows: range, columns: range) -> list[tuple[int, int]]:
    first_counts, second_counts = (
        Counter(side[index].key for index in span) for side, span in ((first, rows), (second, columns))
    )
    by_key = {second[index].key: index for index in columns if second_counts[second[index].key] == 1}
    return [
        (index, by_key[first[index].key])
        for index in rows
        if first_counts[first[index].key] == 1 and first[index].key in by_key
    ]


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of these pairs, in order of the first, that keep the order of the second too."""
    ends: list[int] = []
    last: list[int] = []
    previous: list[int | None] = []
    for number, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        ends[length:] = [position, *ends[length + 1 :]]
        last[length:] = [number, *last[length + 1 :]]
        previous.append(last[length - 1] if length else None)
    chain: list[tuple[int, int]] = []
    current: int | None = last[-1] if last else None
    while current is not None:
        chain.append(pairs[current])
        current = previous[current]
    return chain[::-1]


# ------------------------------------------------------------------------------------------ the gaps


def _cost(a: Element, b: Element) -> float:
    """What it costs to take one for the other; more than two gaps where that may not be."""
    if a.key == b.key:
        return 0.0
    if a.kind != b.kind:
        return 3 * GAP
    union = len(a.terms | b.terms)
    return 0.3 + 1.2 * (1 - (len(a.terms & b.terms) / union if union else 1.0))


def _cheapest_pairs(first: Sequence[Element], second: Sequence[Element], rows: range, columns: range) -> list[Pair]:
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
        for position, column in enumerate(columns):
            matched = above[position][0] + _cost(first[row], second[column])
            line.append(
                min(
                    (matched, "both"),
                    (above[position + 1][0] + GAP, "delete"),
                    (line[position][0] + GAP, "insert"),
                    key=_first,
                )
            )
        table.append(line)
    return table


def _first(choice: tuple[float, str]) -> float:
    return choice[0]


def _pairs_in_order(first: Sequence[Element], second: Sequence[Element], rows: range, columns: range) -> list[Pair]:
    """Like with like, in order: each takes the next of its kind, if there is one within reach."""
    return list(_greedy(first, second, rows, columns, reach=50))


def _greedy(
    first: Sequence[Element], second: Sequence[Element], rows: range, columns: range, reach: int
) -> Iterator[Pair]:
    column = columns.start
    for row in rows:
        kind = first[row].kind
        near = range(column, min(column + reach, columns.stop))
        match = next((index for index in near if second[index].kind == kind), None)
        if match is None:
            yield row, None
            continue
        yield from ((None, index) for index in range(column, match))
        yield row, match
        column = match + 1
    yield from ((None, index) for index in range(column, columns.stop))
