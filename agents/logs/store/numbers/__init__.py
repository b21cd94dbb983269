"""Facets, histograms and statistics of everything a query accepts, exact, for any query.

::

    rows ──table.read──► columns ──agents.logs.store.segments──► sealed segments     in the background
                            │                                     │
                            └─────────── the tail ────────────────┤
                                                                  ▼
    query ──plan──► masks ──scan──► rows of each chunk ──► facets, histogram, stats

What is sealed is read from column segments, what is not, or has changed since, from the rows; a
question sees both at one moment. Counting takes a few milliseconds for a hundred thousand turns; a
question over its time ends with Unavailable. numpy is imported when something is first counted.

==============  ==================================================================================
``columns``     columns in memory and packed
``table``       which columns there are, read from the rows
``reading``     one snapshot, and a limit of time
``chunks``      segments and tail
``masks``       which rows of a chunk a condition holds for
``lookups``     a ``Q`` as a mask
``plan``        a query, and who may see, as masks
``scan``        the rows of every chunk that match
``faceting``    values with their counts
``bucketing``   rows over time
``summing``     sums and percentiles, in groups (``grouping``) too
``dimensions``  what rows are told apart by
``ranking``     the rows with the largest amounts
``sessions``    the same over sessions, which have no columns
``labels``      what the numbers in columns are called
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
MOST_BUCKETS = 500


def facets(actor: Actor, query: Query, by: Sequence[str], limit: int = LIMIT) -> list[Facet]:
    """For each field its values with the number of rows that have them, most first. A field that the
    query itself constrains with a condition of its own is counted without that condition, so that
    its alternatives stay visible. Raises InvalidRequest for a field that has no facet here,
    Unavailable when it takes too long."""
    from agents.logs.store.numbers import dimensions, faceting, snapshot

    known = dimensions.FACETS[_table(query)]
    _all_known("by", by, known)
    with snapshot.reading() as deadline:
        return faceting.facets(actor, query, list(dict.fromkeys(by)), limit, deadline)


def histogram(
    actor: Actor,
    query: Query,
    buckets: int = BUCKETS,
    within: tuple[int | None, int | None] | None = None,
    zone: tzinfo = UTC,
) -> tuple[list[Bucket], str]:
    """Rows over time, in at most about so many buckets of a length people count in, and that length.
    Over the time that ``within`` says (microseconds, from and before), else the query, else from the first
    to the last row. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import bucketing, snapshot

    _table(query)
    with snapshot.reading() as deadline:
        return bucketing.histogram(actor, query, min(max(buckets, 1), MOST_BUCKETS), within, zone, deadline)


def stats(actor: Actor, query: Query) -> Stats:
    """Counts, percentiles, tokens and cost of all rows. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import snapshot, summing

    _table(query)
    with snapshot.reading() as deadline:
        return summing.stats(actor, query, deadline)


def groups(actor: Actor, query: Query, by: Sequence[str], limit: int = GROUPS, zone: tzinfo = UTC) -> Groups:
    """The same for each group of rows: ``by`` are one or two fields or lengths of time (``hour``, ``day``,
    …). Raises InvalidRequest for what rows cannot be told apart by, Unavailable when it takes too long."""
    from agents.logs.store.numbers import dimensions, snapshot, summing

    _all_known("by", by, {**dimensions.GROUPS[_table(query)], **dimensions.PERIODS})
    if not 1 <= len(set(by)) == len(by) <= 2:
        raise InvalidRequest("by: one or two different fields.", param="by")
    with snapshot.reading() as deadline:
        return summing.groups(actor, query, by, limit, zone, deadline)


def by_agent(actor: Actor, query: Query, limit: int = GROUPS) -> dict[int, Stats]:
    """Statistics of the rows of each agent, by its key: the agents with the most rows. Raises Unavailable
    when it takes too long."""
    from agents.logs.store.numbers import snapshot, summing

    _table(query)
    with snapshot.reading() as deadline:
        return summing.by_agent(actor, query, limit, deadline)


def agents_over_time(actor: Actor, query: Query, period: str, zone: tzinfo = UTC) -> dict[tuple[int, int], int]:
    """How many rows an agent (its key) has in an interval of that length (its beginning, microseconds);
    only those that have some. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import snapshot, summing

    _table(query)
    with snapshot.reading() as deadline:
        return summing.agents_over_time(actor, query, period, zone, deadline)


def largest(actor: Actor, query: Query, amount: Literal["duration", "cost"], limit: int) -> list[int]:
    """The keys of the turns with the largest amounts, the largest first; of equal ones the newest. Raises
    Unavailable when it takes too long."""
    from agents.logs.store.numbers import ranking, snapshot

    _table(query)
    with snapshot.reading() as deadline:
        return ranking.largest(actor, query, amount, limit, deadline)


def row_keys(actor: Actor, query: Query) -> list[int]:
    """The keys of all rows, in their order. Raises Unavailable when it takes too long."""
    from agents.logs.store.numbers import ranking, snapshot

    _table(query)
    with snapshot.reading() as deadline:
        return ranking.keys(actor, query, deadline)


def _table(query: Query) -> Literal["session", "turn", "response", "step"]:
    if query.level == "agent":
        raise InvalidRequest(f"There are no numbers of {query.level}s.", param="q")
    return query.level


def _all_known(name: str, given: Sequence[str], known: Iterable[str]) -> None:
    names = sorted(known)
    for one in given:
        if one not in names:
            raise InvalidRequest(f"{name}: '{one[:40]}' is none of {', '.join(names)}.", param=name)
