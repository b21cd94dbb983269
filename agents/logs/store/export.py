"""All rows that a query accepts, newest first, piece by piece: each piece is a page by key, so that no
statement is held open and nothing is kept between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base.access import Actor
from agents.logs.store import listing, rows
from agents.query.tree import Query

Keys = tuple[list[int], int | None]
PIECE = 500
"""Rows of a piece."""


@dataclass(frozen=True, slots=True)
class Piece:
    """``after`` is the key behind which the next piece begins; None at the end."""

    rows: list[Any]
    after: int | None


def piece(actor: Actor, query: Query, after: int | None = None, limit: int | None = None) -> Piece:
    """The rows behind ``after``. Raises Unavailable when finding them takes too long."""
    keys, following = keys_of(actor, query, after, limit)
    return Piece(rows.of(query.level, keys), following)


def keys_of(actor: Actor, query: Query, after: int | None = None, limit: int | None = None) -> Keys:
    """The keys of the same rows, and where the next piece begins."""
    found = listing.page(actor, query, after=after, limit=limit or PIECE)
    if not found.has_older:
        return found.keys, None
    return found.keys, found.keys[-1] if found.searched_to is None else found.searched_to
