"""The log of turns under a query, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.access import Actor
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, rows
from agents.query.tree import Query


@dataclass(frozen=True, slots=True)
class TurnRowPage:
    rows: list[TurnRow]
    has_newer: bool
    has_older: bool


def turns_page(
    actor: Actor, query: Query, *, after: int | None = None, before: int | None = None, limit: int = 50
) -> TurnRowPage:
    """Return a page of turns, newest first: older than the turn ``after``, or newer than the turn ``before``."""
    page = listing.page(actor, query, after=after, before=before, limit=limit)
    return TurnRowPage(rows.of("turn", page.keys), page.has_newer, page.has_older)


def turn_rows(actor: Actor, keys: Sequence[int], query: Query | None = None) -> list[TurnRow]:
    """Return the rows of those turns that the actor may see and the query accepts, newest first."""
    return rows.of("turn", sorted(visible_keys(actor, keys, query), reverse=True))


def visible_keys(actor: Actor, keys: Sequence[int], query: Query | None = None) -> set[int]:
    """Return the keys of those turns that the actor may see and the query accepts."""
    if query is not None:
        return listing.accepted(actor, query, keys)
    return set(listing.visible("turn", actor).filter(pk__in=list(keys)).values_list("pk", flat=True))


def key_of(public_id: str) -> int | None:
    """Return the key of a turn's public id, for cursors; None when the text is no such id."""
    return ids.parse(ids.Kind.TURN, public_id)
