"""Pages of any level's rows under a query: keys first, newest first, in both directions.

Letters in the middle of words are looked for by reading: newest first, window by window, until the page
is full or the time is over; the page then says how far back it looked, and where to go on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.access import Action, Actor
from agents.logs.store.levels import index_candidates, related_keys
from agents.logs.store.levels.relations import MODELS, among
from agents.logs.store.numbers.snapshot import reading
from agents.logs.store.query import condition
from agents.query.tree import FreeText, Level, Query, SearchPhrase, leaves
from agents.record.models.choices import Api
from agents.record.store.search import Keys

BUDGET_S = 4.0
SCAN_S = 1.0
"""How long a page looks for letters before it shows what it has."""
WINDOW = 20_000
"""Rows looked at for letters at a time."""
WINDOWS = (400, 2_000, 12_000, 80_000)
"""Rows looked at one time after the other, before all the rest is."""
CHUNK = 100
"""Of rows that a condition leaves, those looked at first."""


@dataclass(frozen=True, slots=True)
class Page:
    """``keys`` newest first. ``searched_to`` is the last key looked at where not all were: what is older
    has not been searched yet."""

    keys: list[int]
    has_newer: bool
    has_older: bool
    searched_to: int | None = None

    @property
    def searched_to_us(self) -> int | None:
        """How far back the search went, in microseconds; None when it went all the way."""
        return None if self.searched_to is None else ids.key_time_us(self.searched_to)


def visible(level: Level, actor: Actor, action: Action = "read") -> Any:
    """The rows of a level's list: of responses those that OpenAI's API knows."""
    rows = MODELS[level].objects.visible_to(actor, action)
    return rows.filter(api=Api.RESPONSES) if level == "response" else rows


def page(
    actor: Actor,
    query: Query,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int = 50,
    oldest_first: bool = False,
) -> Page:
    """The rows behind (older than) ``after``, or in front of (newer than) ``before``; without either
    the newest, or with ``oldest_first`` the oldest. Raises Unavailable when it takes too long."""
    newer = before is not None or oldest_first
    with reading(BUDGET_S):
        if not newer and _is_read(query):
            return _scanned(actor, query, after, limit)
        keys = _found(actor, query, _From(before if newer else after, newer), limit + 1)
    if newer:
        return Page(keys[:limit][::-1], has_newer=len(keys) > limit, has_older=before is not None)
    return Page(keys[:limit], has_newer=after is not None, has_older=len(keys) > limit)


@dataclass(frozen=True, slots=True)
class _From:
    """Where rows are looked for: behind this key, in either direction."""

    key: int | None
    newer: bool

    def of(self, rows: Any) -> Any:
        rows = rows.order_by("pk" if self.newer else "-pk")
        return rows if self.key is None else rows.filter(**{"pk__gt" if self.newer else "pk__lt": self.key})

    def sorted(self, keys: list[int]) -> list[int]:
        """Those of these keys that are there, the nearest first."""
        behind = [key for key in keys if self.key is None or (key > self.key if self.newer else key < self.key)]
        return sorted(behind, reverse=not self.newer)

    def up_to(self, key: int | None) -> Keys:
        """What is between here and that key, or the end."""
        behind = 0 if self.key is None else self.key + 1
        if self.newer:
            return Keys(behind, key)
        return Keys(0 if key is None else key + 1, self.key)

    def moved(self, key: int) -> _From:
        """So that the row of this key is the next."""
        return _From(key - 1 if self.newer else key + 1, self.newer)


def _found(actor: Actor, query: Query, start: _From, most: int) -> list[int]:
    """The keys of the nearest rows. What is asked of other rows, or of documents, is only asked of those
    that belong to a few rows: those that one of the conditions leaves, or the nearest."""
    levels = related_keys.levels(query)
    rows = visible(query.level, actor)
    if related_keys.is_plain(query):
        return list(start.of(rows.filter(condition(query, actor))).values_list("pk", flat=True)[:most])
    found: list[int] = []
    for keys, are_few in _parts(actor, query, start):
        within = related_keys.to(query.level, keys, levels if are_few else frozenset())
        part = start.of(rows.filter(among(keys)).filter(condition(query, actor, within=within)))
        found += part.values_list("pk", flat=True)[: most - len(found)]
        if len(found) == most:
            break
    return found


def _parts(actor: Actor, query: Query, start: _From) -> Iterator[tuple[Keys, bool]]:
    """The rows to look at, part by part, the nearest first, and whether these are not all that is left."""
    known = index_candidates.rows(actor, query)
    if known is None:
        yield from _windows(visible(query.level, actor), start)
        return
    left, size = start.sorted(known), CHUNK
    while left:
        yield Keys(among=tuple(left[:size])), True
        left, size = left[size:], size * 4


def _windows(rows: Any, start: _From) -> Iterator[tuple[Keys, bool]]:
    for size in WINDOWS:
        end = start.of(rows).values_list("pk", flat=True)[size : size + 1].first()
        yield start.up_to(end), True
        if end is None:
            return
        start = start.moved(end)
    yield start.up_to(None), False


def _is_read(query: Query) -> bool:
    """Whether documents must be read for it."""
    return any(_words(leaf).inside for leaf in leaves(query.tree))


def _words(leaf: Any) -> SearchPhrase:
    value = leaf.words if isinstance(leaf, FreeText) else leaf.value
    return value if isinstance(value, SearchPhrase) else SearchPhrase(text="")


def _scanned(actor: Actor, query: Query, after: int | None, limit: int) -> Page:
    rows, until, keys = visible(query.level, actor), after, list[int]()
    stop = time.monotonic() + SCAN_S
    while True:
        top = rows if until is None else rows.filter(pk__lt=until)
        low = top.order_by("-pk").values_list("pk", flat=True)[WINDOW : WINDOW + 1].first()
        window = top if low is None else top.filter(pk__gte=low)
        within = related_keys.to(query.level, Keys(low or 0, until), related_keys.levels(query))
        found = window.filter(condition(query, actor, within=within))
        keys += found.order_by("-pk").values_list("pk", flat=True)[: limit + 1 - len(keys)]
        if low is None or len(keys) > limit:
            return Page(keys[:limit], has_newer=after is not None, has_older=len(keys) > limit)
        if time.monotonic() > stop:
            return Page(keys, has_newer=after is not None, has_older=True, searched_to=low)
        until = low


def accepted(actor: Actor, query: Query, keys: Sequence[int], turns: Sequence[int] | None = None) -> set[int]:
    """Those of these rows that the actor may see and the query accepts; ``turns`` are those they are
    of, where the rows are not turns."""
    only = keys if query.level == "turn" else turns
    rows = visible(query.level, actor).filter(pk__in=list(keys)).filter(condition(query, actor, only))
    return set(rows.values_list("pk", flat=True))


def newest(actor: Actor, query: Query, limit: int) -> list[int]:
    """The keys of the newest rows a query accepts, newest first."""
    rows = visible(query.level, actor).filter(condition(query, actor))
    return list(rows.order_by("-pk").values_list("pk", flat=True)[:limit])
