"""Rows as they come and change, one at a time, for a terminal: the change feed, asked now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.logs.store import listing, rows
from agents.query.tree import Level, Query

EVERY_S = 0.5
KEPT = 10_000
"""Rows whose last status is remembered."""
_KINDS: dict[Level, int] = {
    "turn": ChangeKind.TURN,
    "session": ChangeKind.SESSION,
    "step": ChangeKind.STEP,
    "response": ChangeKind.RESPONSE,
}


def last(actor: Actor, query: Query, count: int) -> list[Any]:
    """The newest rows, oldest first."""
    keys = listing.page(actor, query, limit=count).keys if count else []
    return rows.of(query.level, keys)[::-1]


def follow(actor: Actor, query: Query, seq: int, wait: Callable[[float], None] = time.sleep) -> Iterator[Any]:
    """Rows that changed behind a number of the feed, for ever: each when it first fits the query, and when
    its status is another."""
    told: dict[int, str | None] = {}
    while True:
        changed = changes.after(seq)
        if changed is None:
            wait(EVERY_S)
            continue
        seq = changed.seq
        yield from _news(actor, query, [key for kind, key in changed.records if kind == _KINDS[query.level]], told)


def _news(actor: Actor, query: Query, keys: list[int], told: dict[int, str | None]) -> Iterator[Any]:
    fitting = listing.accepted(actor, query, keys) if keys else set()
    for number in sorted(fitting):
        for row in rows.of(query.level, [number]):
            if told.get(number, "") != row.status:
                told[number] = row.status
                yield row
    while len(told) > KEPT:
        told.pop(next(iter(told)))
