"""Facets, histograms and statistics of what a query accepts."""

from __future__ import annotations

from typing import Literal

from agents.base.schemas.wire import Timestamp, WireOutput
from agents.logs.schemas.rows import QueryEcho

GroupMeasure = Literal["count", "failed", "tokens", "cost", "duration"]
"""A number that groups are sorted and drawn by; of durations the 95th percentile, in milliseconds."""


class FacetValue(WireOutput):
    """``value`` is what a query says behind the field's colon, ``label`` what people read."""

    value: str
    label: str
    count: int


class Facet(WireOutput):
    """The values of a field with how many rows have each. Counted as if the query did not say
    anything of this field, so that its alternatives stay visible; ``total`` are those rows,
    ``absent`` those of them without a value, ``more`` the values beyond the limit."""

    field: str
    total: int
    values: list[FacetValue]
    absent: int = 0
    more: int = 0


class Bucket(WireOutput):
    """Rows that began from ``from_us`` on and before ``to_us`` (microseconds since 1970)."""

    from_us: int
    to_us: int
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    live: int = 0


class Percentiles(WireOutput):
    """In milliseconds, of the ``count`` rows that have the value; null when there are none."""

    count: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class TokenSums(WireOutput):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0


class Stats(WireOutput):
    """Sums over rows; ``turns`` are those of sessions. ``stopped`` were cancelled or interrupted, ``live``
    run or wait; ``duration_ms`` is without ``waited_ms``, what they waited for a person or their client;
    ``failure_rate`` is that of those that ended. ``cost_usd`` sums the known costs;
    ``cost_unknown`` rows have none."""

    count: int = 0
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    live: int = 0
    failure_rate: float | None = None
    duration_ms: Percentiles = Percentiles()
    waited_ms: Percentiles = Percentiles()
    ttft_ms: Percentiles = Percentiles()
    tokens: TokenSums = TokenSums()
    cost_usd: float | None = None
    cost_nano: int = 0
    cost_unknown: int = 0
    turns: int = 0
    steps: int = 0
    tools: int = 0
    errors: int = 0
    violations: int = 0


class Group(WireOutput):
    """The rows that agree in the fields asked for: ``values`` and ``labels`` are theirs, null where
    the rows have none. A group of time has its beginning as ``from_us``."""

    values: list[str | None]
    labels: list[str]
    from_us: int | None = None
    stats: Stats


class Groups(WireOutput):
    """``more`` are the groups beyond the limit."""

    by: list[str]
    groups: list[Group]
    more: int = 0


class FacetsAnswer(WireOutput):
    data: list[Facet]
    query: QueryEcho


class HistogramAnswer(WireOutput):
    """``width`` is the length of a bucket in words, such as ``1 hour``; months differ."""

    data: list[Bucket]
    width: str
    total: int
    query: QueryEcho


class StatsAnswer(WireOutput):
    data: Stats
    by: list[str] = []
    groups: list[Group] = []
    more: int = 0
    query: QueryEcho


__all__ = [
    "Bucket",
    "Facet",
    "FacetValue",
    "FacetsAnswer",
    "Group",
    "GroupMeasure",
    "Groups",
    "HistogramAnswer",
    "Percentiles",
    "Stats",
    "StatsAnswer",
    "Timestamp",
    "TokenSums",
]
