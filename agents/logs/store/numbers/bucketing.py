"""Count the rows that began in each interval, by their outcome."""

from __future__ import annotations

from datetime import tzinfo

import numpy as np

from agents.base.access import Actor
from agents.logs.schemas.numbers import Bucket
from agents.logs.store.numbers.columns import Array
from agents.logs.store.numbers.dimensions import STARTED, WIDTHS, edges
from agents.logs.store.numbers.scan import open_scan
from agents.logs.store.numbers.snapshot import Deadline
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


def histogram(
    actor: Actor, query: Query, buckets: int, within: TimeRange | None, zone: tzinfo, deadline: Deadline
) -> tuple[list[Bucket], str]:
    """Return buckets in the order of time, without gaps, and their width."""
    started, outcomes = _gather(actor, query, deadline)
    low, high = within or time_range(query)
    if len(started):
        low = int(started.min()) if low is None else low
        high = int(started.max()) + 1 if high is None else high
    if low is None or high is None or high <= low:
        return [], ""
    width = _width(high - low, buckets)
    return _fill(started, outcomes, edges(low, high, width, zone)), width


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


def _gather(actor: Actor, query: Query, deadline: Deadline) -> tuple[Array, Array]:
    scan = open_scan(actor, query, deadline)
    column, status = STARTED[scan.table], f"{scan.table}.status"
    started, outcomes = [np.array([], dtype=np.int64)], [np.array([], dtype=np.uint8)]
    for matched in scan.over({column, status}):
        rows = matched.rows()
        if rows is not None:
            started.append(matched.ints(column, rows))
            outcomes.append(OUTCOME_OF_STATUS[matched.ints(status, rows)])
    return np.concatenate(started), np.concatenate(outcomes)


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
