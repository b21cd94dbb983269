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
``chunks``      segments and tail
``masks``       boolean arrays: the rows of a chunk that fulfil a condition
``lookups``     a ``Q`` as a mask
``plan``        a query, and the rule of visibility, as masks
``scan``        the rows of every chunk that match
``faceting``    values with their counts
``bucketing``   rows over time
``summing``     sums and percentiles, in groups (``grouping``) too
``dimensions``  the fields and lengths of time that rows are grouped by
``ranking``     the rows with the largest amounts
``sessions``    the same over sessions, which have no columns
``labels``      names of the numbers in columns
==============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from typing import Literal

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.logs.schemas.numbers import Bucket, Facet, Groups, Stats
from agents.query.tree import Query

LIMIT, BUCKETS, GROUPS = 30, 60, 1000
MAX_BUCKETS = 500


def facets(actor: Actor, query: Query, by: Sequence[str], limit: int = LIMIT) -> list[Facet]:
    """Count for each field its values with the number of rows that have them, most first. A field that
    the query constrains with a condition of its own is counted without that condition, so that its
    alternatives stay visible. Raises InvalidRequest for a field that has no facet at this level,
    Unavailable when it takes too long."""
    from agents.logs.store.numbers import dimensions, faceting, snapshot

    columns = dimensions.FACETS[_table(query)]
    _check_names("by", by, columns)
    with snapshot.reading() as deadline:
        return faceting.facets(actor, query, list(dict.fromkeys(by)), limit, deadline)


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
    from agents.logs.store.numbers import bucketing, snapshot

    _table(query)
    with snapshot.reading() as deadline:
        return bucketing.histogram(actor, query, min(max(buckets, 1), MAX_BUCKETS), within, zone, deadline)


def stats(actor: Actor, query: Query) -> Stats:
    """Compute counts, percentiles, tokens and cost of all rows. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import snapshot, summing

    _table(query)
    with snapshot.reading() as deadline:
        return summing.stats(actor, query, deadline)


def groups(actor: Actor, query: Query, by: Sequence[str], limit: int = GROUPS, zone: tzinfo = UTC) -> Groups:
    """Compute the same for each group of rows: ``by`` are one or two fields or lengths of time (``hour``, ``day``,
    …). Raises InvalidRequest for any other name, Unavailable when it takes too long."""
    from agents.logs.store.numbers import dimensions, snapshot, summing

    _check_names("by", by, {**dimensions.GROUPS[_table(query)], **dimensions.PERIODS})
    if not 1 <= len(set(by)) == len(by) <= 2:
        raise InvalidRequest("by: one or two different fields.", param="by")
    with snapshot.reading() as deadline:
        return summing.groups(actor, query, by, limit, zone, deadline)


def by_agent(actor: Actor, query: Query, limit: int = GROUPS) -> dict[int, Stats]:
    """Compute statistics of each agent's rows, by its key, for the agents with the most rows. Raises Unavailable
    when it takes too long."""
    from agents.logs.store.numbers import snapshot, summing

    _table(query)
    with snapshot.reading() as deadline:
        return summing.by_agent(actor, query, limit, deadline)


def agents_over_time(actor: Actor, query: Query, period: str, zone: tzinfo = UTC) -> dict[tuple[int, int], int]:
    """Count the rows by agent (its key) and interval of that length (its start, microseconds); without
    zeros. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import snapshot, summing

    _table(query)
    with snapshot.reading() as deadline:
        return summing.agents_over_time(actor, query, period, zone, deadline)


def largest(actor: Actor, query: Query, amount: Literal["duration", "cost"], limit: int) -> list[int]:
    """Return the keys of the turns with the largest amounts, the largest first; of equal ones the newest. Raises
    Unavailable when it takes too long."""
    from agents.logs.store.numbers import ranking, snapshot

    _table(query)
    with snapshot.reading() as deadline:
        return ranking.largest(actor, query, amount, limit, deadline)


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
