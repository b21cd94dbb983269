"""Count the rows that began in each interval, by their outcome."""

from __future__ import annotations

from datetime import tzinfo

import numpy as np

from agents.logs.schemas.numbers import Bucket
from agents.logs.store.numbers.columns import Array
from agents.logs.store.numbers.dimensions import STARTED, WIDTHS, edges
from agents.logs.store.numbers.layouts import Table
from agents.logs.store.numbers.scan import MatchedChunk
from agents.query import tree
from agents.query.tree import Period, Query
from agents.record.models.choices import TurnStatus

TimeRange = tuple[int | None, int | None]
OUTCOMES = ("completed", "failed", "stopped", "live")
_OUTCOME = {TurnStatus.COMPLETED: 0, TurnStatus.FAILED: 1, TurnStatus.CANCELLED: 2, TurnStatus.INTERRUPTED: 2}
OUTCOME_OF_STATUS = np.array(
    [_OUTCOME.get(TurnStatus(status), 3) if status else 3 for status in range(8)], dtype=np.uint8
)
"""The index in `OUTCOMES` of each status."""


class HistogramCounter:
    """Counts rows over time, in about ``buckets`` intervals of the range ``within``; of all rows by default."""

    def __init__(self, table: Table, buckets: int, within: TimeRange, zone: tzinfo) -> None:
        self._buckets, self._range, self._zone = buckets, within, zone
        self._started, self._status = STARTED[table], f"{table}.status"
        self._times, self._outcomes = [np.array([], dtype=np.int64)], [np.array([], dtype=np.uint8)]
        self.needs = {self._started, self._status}

    def add(self, matched: MatchedChunk) -> None:
        rows = matched.rows()
        if rows is not None:
            self._times.append(matched.ints(self._started, rows))
            self._outcomes.append(OUTCOME_OF_STATUS[matched.ints(self._status, rows)])

    def histogram(self) -> tuple[list[Bucket], str]:
        """Return buckets in the order of time, without gaps, and their width."""
        started, outcomes = np.concatenate(self._times), np.concatenate(self._outcomes)
        low, high = self._range
        if len(started):
            low = int(started.min()) if low is None else low
            high = int(started.max()) + 1 if high is None else high
        if low is None or high is None or high <= low:
            return [], ""
        width = _width(high - low, self._buckets)
        return _fill(started, outcomes, edges(low, high, width, self._zone)), width


def time_range(query: Query) -> TimeRange:
    """Return the range of time that a query's own conditions on ``started`` allow."""
    lows, highs = [], []
    for node in tree.conjuncts(query.tree):
        if isinstance(node, tree.FieldTerm) and node.field == "started" and isinstance(node.value, Period):
            lows.append(node.value.low_us)
            highs.append(node.value.high_us)
    return (
        max((low for low in lows if low is not None), default=None),
        min((high for high in highs if high is not None), default=None),
    )


def _width(span_us: int, buckets: int) -> str:
    """Return the shortest width that needs no more buckets than these; the longest where all need more."""
    return next((name for name, length in WIDTHS.items() if span_us <= length * buckets), list(WIDTHS)[-1])


def _fill(started: Array, outcomes: Array, bounds: list[int]) -> list[Bucket]:
    indices = np.searchsorted(np.array(bounds, dtype=np.int64), started, side="right") - 1
    inside = (indices >= 0) & (indices < len(bounds) - 1)
    flat = indices[inside] * len(OUTCOMES) + outcomes[inside]
    table = np.bincount(flat, minlength=(len(bounds) - 1) * len(OUTCOMES)).reshape(-1, len(OUTCOMES))
    return [
        Bucket(from_us=start, to_us=end, **dict(zip(OUTCOMES, counts, strict=True)))
        for start, end, counts in zip(bounds[:-1], bounds[1:], table.tolist(), strict=True)
    ]
