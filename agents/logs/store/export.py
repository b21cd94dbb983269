"""Read all rows that a query accepts in batches, newest first or in the order of an amount: no statement stays open
between two of them, and nothing is stored. By time each batch is a page by key; in the order of an amount the keys of
many batches are found at once, as finding them reads that amount of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.logs.schemas.sorting import NEWEST_FIRST, SortOrder, SortPosition
from agents.logs.store import listing, numbers, rows
from agents.query.tree import Query

BatchKeys = tuple[list[int], int | None]
BATCH_ROWS = 500
"""Rows of a batch."""
SORTED_ROWS = 100_000
"""Rows whose keys are found at once in the order of an amount."""


@dataclass(frozen=True, slots=True)
class ExportStart:
    """Where a batch begins: behind a position; ``ahead`` are the positions of rows that were found before."""

    position: SortPosition | None = None
    ahead: tuple[SortPosition, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportBatch:
    """A batch of rows; the next one begins at ``following``, which is None at the end."""

    rows: list[Any]
    following: ExportStart | None


_START = ExportStart()


def batch(actor: Actor, query: Query, order: SortOrder = NEWEST_FIRST, start: ExportStart = _START) -> ExportBatch:
    """Read the rows from ``start`` on. Raises InvalidRequest for an order that these rows do not have, Unavailable
    when finding them takes too long."""
    if not order.is_by_time:
        return _sorted_batch(actor, query, order, start)
    page = listing.sorted_page(actor, query, order, after=start.position, limit=BATCH_ROWS)
    return ExportBatch(rows.of(query.level, page.keys), ExportStart(page.last) if page.has_after else None)


def _sorted_batch(actor: Actor, query: Query, order: SortOrder, start: ExportStart) -> ExportBatch:
    ahead, is_last = start.ahead, False
    if not ahead:
        ahead = tuple(numbers.sorted_positions(actor, query, order, start.position, limit=SORTED_ROWS))
        is_last = len(ahead) < SORTED_ROWS
    batch_positions, ahead = ahead[:BATCH_ROWS], ahead[BATCH_ROWS:]
    # of rows that are gone by now, or may not be seen any more, nothing is read
    keys = [position.key for position in batch_positions]
    visible = set(listing.visible(query.level, actor).filter(pk__in=keys).values_list("pk", flat=True))
    following = ExportStart(batch_positions[-1], ahead) if batch_positions else None
    return ExportBatch(
        rows.of(query.level, [key for key in keys if key in visible]), None if is_last and not ahead else following
    )


def keys_of(actor: Actor, query: Query, after: int | None = None, limit: int | None = None) -> BatchKeys:
    """Return the keys of the newest rows behind a key, and the key behind which the next batch begins."""
    page = listing.page(actor, query, after=after, limit=limit or BATCH_ROWS)
    if not page.has_older:
        return page.keys, None
    return page.keys, page.keys[-1] if page.searched_to is None else page.searched_to
