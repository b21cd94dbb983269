"""Compute facets, histograms and statistics of all rows a query accepts, exactly, for any query.

::

    rows ──table.read──► columns ──agents.logs.store.segments──► sealed segments     in the background
                            │                                     │
                            └─────────── the tail ────────────────┤
                                                                  ▼
    query ──plan──► masks ──scan──► rows of each chunk ──► facets, histogram, stats

Sealed turns are read from column segments, those that are not sealed, or have changed since, from the
rows; both in one snapshot. Counting takes a few milliseconds for a hundred thousand turns; beyond its
time limit it ends with Unavailable. numpy is imported when something is first counted.

==============  ==================================================================================
``columns``     columns in memory and packed
``layouts``     the columns of each table
``table``       columns read from the rows
``reading``     one snapshot, and a limit of time
``derived``     columns that follow from stored ones
``chunks``      segments and tail
``masks``       boolean arrays: the rows of a chunk that fulfil a condition
``lookups``     a ``Q`` as a mask
``plan``        a query, and the rule of visibility, as masks
``scan``        the rows of every chunk that match
``faceting``    values with their counts
``bucketing``   rows over time
``summing``     sums and percentiles, in groups (``grouping``) too
``dimensions``  the fields and lengths of time that rows are grouped by
``listed_terms`` which of the interned strings of turns are values of a field
``row_amounts`` the amounts of rows: durations, waits, tokens, costs
``ranking``     the rows in the order of an amount
``sessions``    the same over sessions, which have no columns
``labels``      names of the numbers in columns
==============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Literal

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.logs.schemas.numbers import Bucket, Facet, GroupMeasure, Groups, Stats
from agents.logs.schemas.sorting import SortOrder, SortPosition
from agents.query.tree import Query

if TYPE_CHECKING:  # what needs numpy is imported where numbers are computed
    from agents.logs.store.numbers.bucketing import HistogramCounter
    from agents.logs.store.numbers.faceting import FacetCounter
    from agents.logs.store.numbers.grouping import GroupAmount
    from agents.logs.store.numbers.summing import StatsCounter

LIMIT, BUCKETS, GROUPS = 30, 60, 1000
MAX_BUCKETS = 500


@dataclass(frozen=True, slots=True)
class Overview:
    """The numbers of a list page. ``width`` is the length of the buckets' intervals."""

    facets: list[Facet]
    buckets: list[Bucket]
    width: str
    stats: Stats


def overview(actor: Actor, query: Query, by: Sequence[str], buckets: int, zone: tzinfo) -> Overview:
    """Compute the facets, the histogram and the statistics in one pass. Raises as these do."""
    from agents.logs.store.numbers import snapshot
    from agents.logs.store.numbers.scan import count, open_scan
    from agents.logs.store.numbers.summing import StatsCounter

    with snapshot.reading() as deadline:
        values, times = _facet_counter(query, by, LIMIT), _histogram_counter(query, buckets, None, zone)
        sums = StatsCounter(_table(query))
        count(open_scan(actor, query, deadline), [values, times, sums], without=by)
        return Overview(values.facets(), *times.histogram(), sums.stats())


def facets(actor: Actor, query: Query, by: Sequence[str], limit: int = LIMIT) -> list[Facet]:
    """Count for each field its values with the number of rows that have them, most first. A field that
    the query constrains with a condition of its own is counted without that condition, so that its
    alternatives stay visible. Raises InvalidRequest for a field that has no facet at this level,
    Unavailable when it takes too long."""
    from agents.logs.store.numbers import snapshot
    from agents.logs.store.numbers.scan import count, open_scan

    counter = _facet_counter(query, by, limit)
    with snapshot.reading() as deadline:
        count(open_scan(actor, query, deadline), [counter], without=by)
        return counter.facets()


def _facet_counter(query: Query, by: Sequence[str], limit: int) -> FacetCounter:
    from agents.logs.store.numbers.dimensions import facet_columns
    from agents.logs.store.numbers.faceting import FacetCounter

    table = _table(query)
    _check_names("by", by, facet_columns(table, by))
    return FacetCounter(table, list(dict.fromkeys(by)), limit)


def histogram(
    actor: Actor,
    query: Query,
    buckets: int = BUCKETS,
    within: tuple[int | None, int | None] | None = None,
    zone: tzinfo = UTC,
) -> tuple[list[Bucket], str]:
    """Count rows over time, in about ``buckets`` intervals of a customary length, which is returned too.
    The range of time is ``within`` (microseconds, from and before), else that of the query, else from the
    first to the last row. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import snapshot
    from agents.logs.store.numbers.scan import count, open_scan

    counter = _histogram_counter(query, buckets, within, zone)
    with snapshot.reading() as deadline:
        count(open_scan(actor, query, deadline), [counter])
        return counter.histogram()


def _histogram_counter(
    query: Query, buckets: int, within: tuple[int | None, int | None] | None, zone: tzinfo
) -> HistogramCounter:
    from agents.logs.store.numbers.bucketing import HistogramCounter, time_range

    return HistogramCounter(_table(query), min(max(buckets, 1), MAX_BUCKETS), within or time_range(query), zone)


def stats(actor: Actor, query: Query) -> Stats:
    """Compute counts, percentiles, tokens and cost of all rows. Raises Unavailable when it takes too long."""
    with _summed(actor, query) as counter:
        return counter.stats()


def groups(actor: Actor, query: Query, by: Sequence[str], limit: int = GROUPS, zone: tzinfo = UTC) -> Groups:
    """Compute the same for each group of rows: ``by`` are one or two fields or lengths of time (``hour``, ``day``,
    …). Raises InvalidRequest for any other name, Unavailable when it takes too long."""
    check_groups(query, by)
    with _summed(actor, query, by, zone) as counter:
        return counter.groups(limit)


@dataclass(frozen=True, slots=True)
class MeasuredGroups:
    """Groups with the most of a measure, the statistics of all rows, and the measure of every group. Where a group
    ``overlaps`` others they add up to more than the total."""

    groups: Groups
    total: Stats
    amounts: list[GroupAmount]
    overlaps: bool


def measured_groups(
    actor: Actor, query: Query, by: Sequence[str], measure: GroupMeasure, limit: int, zone: tzinfo = UTC
) -> MeasuredGroups:
    """Compute groups as a table and a chart show them: ``limit`` of them with all numbers, of each the measure. Raises
    as `groups`."""
    check_groups(query, by)
    with _summed(actor, query, by, zone) as counter:
        found, amounts = counter.groups(limit, measure), counter.amounts(measure)
        if not counter.overlaps:
            return MeasuredGroups(found, counter.stats(), amounts, overlaps=False)
    return MeasuredGroups(found, stats(actor, query), amounts, overlaps=True)


def check_groups(query: Query, by: Sequence[str]) -> None:
    """Raise InvalidRequest where `groups` would."""
    from agents.logs.store.numbers import dimensions

    _check_names("by", by, {**dimensions.group_columns(_table(query), by), **dimensions.PERIODS})
    if not 1 <= len(set(by)) == len(by) <= 2:
        raise InvalidRequest("by: one or two different fields.", param="by")


def by_agent(actor: Actor, query: Query, limit: int = GROUPS) -> dict[int, Stats]:
    """Compute statistics of each agent's rows, by its key, for the agents with the most rows. Raises Unavailable
    when it takes too long."""
    with _summed(actor, query, ("agent",)) as counter:
        return counter.by_key(limit)


def agents_over_time(actor: Actor, query: Query, period: str, zone: tzinfo = UTC) -> dict[tuple[int, int], int]:
    """Count the rows by agent (its key) and interval of that length (its start, microseconds); without
    zeros. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers.columns import NULL

    with _summed(actor, query, ("agent", period), zone) as counter:
        return {(agent, start): rows for (agent, start), rows in counter.counts().items() if agent != NULL}


@contextmanager
def _summed(actor: Actor, query: Query, by: Sequence[str] = (), zone: tzinfo | None = None) -> Iterator[StatsCounter]:
    """Sum up the rows; yields within the snapshot, in which groups are named."""
    from agents.logs.store.numbers import snapshot
    from agents.logs.store.numbers.scan import count, open_scan
    from agents.logs.store.numbers.summing import StatsCounter

    counter = StatsCounter(_table(query), by, zone)
    with snapshot.reading() as deadline:
        count(open_scan(actor, query, deadline), [counter])
        yield counter


def largest(actor: Actor, query: Query, amount: Literal["duration", "cost"], limit: int) -> list[int]:
    """Return the keys of the turns with the largest amounts, the largest first; of equal ones the newest, and none
    without an amount. Raises Unavailable when it takes too long."""
    positions = sorted_positions(actor, query, SortOrder(amount, descending=True), limit=limit)
    return [position.key for position in positions if position.amount is not None]


def sorted_positions(
    actor: Actor,
    query: Query,
    order: SortOrder,
    start: SortPosition | None = None,
    *,
    back: bool = False,
    limit: int = 50,
) -> list[SortPosition]:
    """Return the rows behind a position in the order of an amount, or with ``back`` those before it, in the order; at
    most ``limit``, the nearest. Raises InvalidRequest for an amount that these rows do not have, Unavailable when it
    takes too long."""
    from agents.logs.store.numbers import ranking, row_amounts, snapshot

    if not row_amounts.needs(order.field, _table(query)):
        raise InvalidRequest(f"sort: {query.level}s have no {order.field}.", param="sort")
    search = ranking.SortedSearch(order, start, back=back, limit=limit)
    with snapshot.reading() as deadline:
        return ranking.sorted_positions(actor, query, search, deadline)


def row_keys(actor: Actor, query: Query) -> list[int]:
    """Return the keys of all rows, ascending. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import ranking, snapshot

    _table(query)
    with snapshot.reading() as deadline:
        return ranking.keys(actor, query, deadline)


def _table(query: Query) -> Literal["session", "turn", "response", "step"]:
    if query.level == "agent":
        raise InvalidRequest(f"There are no numbers of {query.level}s.", param="q")
    return query.level


def _check_names(name: str, requested: Sequence[str], valid: Iterable[str]) -> None:
    names = sorted(valid)
    for field in requested:
        if field not in names:
            raise InvalidRequest(f"{name}: '{field[:40]}' is none of {', '.join(names)}.", param=name)
