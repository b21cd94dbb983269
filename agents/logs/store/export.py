"""Read all rows that a query accepts in batches, newest first: each batch is a page by key, so that no
statement stays open and nothing is stored between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.logs.store import listing, rows
from agents.query.tree import Query

BatchKeys = tuple[list[int], int | None]
BATCH_ROWS = 500
"""Rows of a batch."""


@dataclass(frozen=True, slots=True)
class ExportBatch:
    """A batch of rows; the next one begins behind the key ``after``, which is None at the end."""

    rows: list[Any]
    after: int | None


def batch(actor: Actor, query: Query, after: int | None = None, limit: int | None = None) -> ExportBatch:
    """Read the rows behind ``after``. Raises Unavailable when finding them takes too long."""
    keys, following = keys_of(actor, query, after, limit)
    return ExportBatch(rows.of(query.level, keys), following)


def keys_of(actor: Actor, query: Query, after: int | None = None, limit: int | None = None) -> BatchKeys:
    """Return the keys of the same rows, and the key behind which the next batch begins."""
    page = listing.page(actor, query, after=after, limit=limit or BATCH_ROWS)
    if not page.has_older:
        return page.keys, None
    return page.keys, page.keys[-1] if page.searched_to is None else page.searched_to
