"""Follows the rows of a query for a terminal by polling the change feed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.logs.store import listing, rows
from agents.query.tree import Level, Query

POLL_INTERVAL_S = 0.5
MAX_STATUSES = 10_000
"""Rows whose last printed status is remembered."""
_KINDS: dict[Level, int] = {
    "turn": ChangeKind.TURN,
    "session": ChangeKind.SESSION,
    "step": ChangeKind.STEP,
    "response": ChangeKind.RESPONSE,
}


def last_rows(actor: Actor, query: Query, count: int) -> list[Any]:
    """Return the newest rows, oldest first."""
    keys = listing.page(actor, query, limit=count).keys if count else []
    return rows.of(query.level, keys)[::-1]


def follow(actor: Actor, query: Query, seq: int, wait: Callable[[float], None] = time.sleep) -> Iterator[Any]:
    """Yield rows that changed behind a number of the feed, endlessly: each when it first matches the query, and
    whenever its status changed."""
    statuses: dict[int, str | None] = {}
    while True:
        changed = changes.after(seq)
        if changed is None:
            wait(POLL_INTERVAL_S)
            continue
        seq = changed.seq
        yield from _changed_rows(
            actor, query, [key for kind, key in changed.records if kind == _KINDS[query.level]], statuses
        )


def _changed_rows(actor: Actor, query: Query, keys: list[int], statuses: dict[int, str | None]) -> Iterator[Any]:
    matches = listing.accepted(actor, query, keys) if keys else set()
    for key in sorted(matches):
        for row in rows.of(query.level, [key]):
            if statuses.get(key, "") != row.status:
                statuses[key] = row.status
                yield row
    while len(statuses) > MAX_STATUSES:
        statuses.pop(next(iter(statuses)))
