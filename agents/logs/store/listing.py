"""Page through any level's rows under a query: keys first, newest first, in both directions.

Letters in the middle of words cannot be found in an index: the documents are scanned, newest first, window
by window, until the page is full or the time is over; the page then has the key where the scan stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.access import Action, Actor
from agents.logs.schemas.sorting import SortOrder, SortPosition
from agents.logs.store import numbers
from agents.logs.store.levels import index_candidates, related_keys
from agents.logs.store.levels.relations import MODELS, among
from agents.logs.store.numbers.snapshot import reading
from agents.logs.store.query import condition
from agents.query.tree import FreeText, Level, Query, SearchPhrase, leaves
from agents.record.models.choices import Api
from agents.record.store.search import KeyRange

BUDGET_S = 4.0
SCAN_S = 1.0
"""How long a page scans for letters before it returns what it has."""
SCAN_ROWS = 20_000
"""Rows scanned for letters at a time."""
WINDOWS = (400, 2_000, 12_000, 80_000)
"""Sizes of the windows of rows to search, one after the other, before all remaining rows at once."""
CHUNK = 100
"""Candidate rows of the first chunk to search."""


@dataclass(frozen=True, slots=True)
class KeyPage:
    """A page of keys, newest first. ``searched_to`` is the key where a scan stopped early: older rows
    have not been searched yet."""

    keys: list[int]
    has_newer: bool
    has_older: bool
    searched_to: int | None = None


def visible(level: Level, actor: Actor, action: Action = "read") -> Any:
    """Return the rows of a level's list that the actor may see: of responses those of OpenAI's API."""
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
) -> KeyPage:
    """Return the rows older than ``after``, or newer than ``before``; without either
    the newest, or with ``oldest_first`` the oldest. Raises Unavailable when it takes too long."""
    newer = before is not None or oldest_first
    with reading(BUDGET_S):
        if not newer and _scans_documents(query):
            return _scan(actor, query, after, limit)
        keys = _nearest(actor, query, _Start(before if newer else after, newer), limit + 1)
    if newer:
        return KeyPage(keys[:limit][::-1], has_newer=len(keys) > limit, has_older=before is not None)
    return KeyPage(keys[:limit], has_newer=after is not None, has_older=len(keys) > limit)


@dataclass(frozen=True, slots=True)
class _Start:
    """The key behind which a search starts, and its direction."""

    key: int | None
    newer: bool

    def apply(self, rows: Any) -> Any:
        rows = rows.order_by("pk" if self.newer else "-pk")
        return rows if self.key is None else rows.filter(**{"pk__gt" if self.newer else "pk__lt": self.key})

    def sorted(self, keys: list[int]) -> list[int]:
        """Return those of the keys that lie in the direction of the search, the nearest first."""
        following = [key for key in keys if self.key is None or (key > self.key if self.newer else key < self.key)]
        return sorted(following, reverse=not self.newer)

    def until(self, key: int | None) -> KeyRange:
        """Return the range of keys from the start up to that key, or the end."""
        first_key = 0 if self.key is None else self.key + 1
        if self.newer:
            return KeyRange(first_key, key)
        return KeyRange(0 if key is None else key + 1, self.key)

    def before(self, key: int) -> _Start:
        """Return the start that has the row of this key next."""
        return _Start(key - 1 if self.newer else key + 1, self.newer)


def _nearest(actor: Actor, query: Query, start: _Start, limit: int) -> list[int]:
    """Return the keys of the nearest rows. Conditions on other tables and on documents are evaluated for a few
    rows at a time: for the candidates of an index, or for windows of the nearest rows."""
    levels = related_keys.levels(query)
    rows = visible(query.level, actor)
    if related_keys.is_plain(query):
        return list(start.apply(rows.filter(condition(query, actor))).values_list("pk", flat=True)[:limit])
    nearest: list[int] = []
    for keys, are_few in _candidates(actor, query, start):
        within = related_keys.related(query.level, keys, levels if are_few else frozenset())
        part = start.apply(rows.filter(among(keys)).filter(condition(query, actor, within=within)))
        nearest += part.values_list("pk", flat=True)[: limit - len(nearest)]
        if len(nearest) == limit:
            break
    return nearest


def _candidates(actor: Actor, query: Query, start: _Start) -> Iterator[tuple[KeyRange, bool]]:
    """Yield the keys to search, the nearest first, and whether they are few (and not all that remain)."""
    candidates = index_candidates.rows(actor, query)
    if candidates is None:
        yield from _windows(visible(query.level, actor), start)
        return
    remaining, size = start.sorted(candidates), CHUNK
    while remaining:
        yield KeyRange(among=tuple(remaining[:size])), True
        remaining, size = remaining[size:], size * 4


def _windows(rows: Any, start: _Start) -> Iterator[tuple[KeyRange, bool]]:
    for size in WINDOWS:
        end = start.apply(rows).values_list("pk", flat=True)[size : size + 1].first()
        yield start.until(end), True
        if end is None:
            return
        start = start.before(end)
    yield start.until(None), False


def _scans_documents(query: Query) -> bool:
    """Whether documents must be scanned for it."""
    return any(_phrase(leaf).inside for leaf in leaves(query.tree))


def _phrase(leaf: Any) -> SearchPhrase:
    value = leaf.words if isinstance(leaf, FreeText) else leaf.value
    return value if isinstance(value, SearchPhrase) else SearchPhrase(text="")


def _scan(actor: Actor, query: Query, after: int | None, limit: int) -> KeyPage:
    rows, end, keys = visible(query.level, actor), after, list[int]()
    deadline = time.monotonic() + SCAN_S
    while True:
        top = rows if end is None else rows.filter(pk__lt=end)
        low = top.order_by("-pk").values_list("pk", flat=True)[SCAN_ROWS : SCAN_ROWS + 1].first()
        window = top if low is None else top.filter(pk__gte=low)
        within = related_keys.related(query.level, KeyRange(low or 0, end), related_keys.levels(query))
        matching = window.filter(condition(query, actor, within=within))
        keys += matching.order_by("-pk").values_list("pk", flat=True)[: limit + 1 - len(keys)]
        if low is None or len(keys) > limit:
            return KeyPage(keys[:limit], has_newer=after is not None, has_older=len(keys) > limit)
        if time.monotonic() > deadline:
            return KeyPage(keys, has_newer=after is not None, has_older=True, searched_to=low)
        end = low


@dataclass(frozen=True, slots=True)
class SortedPage:
    """A page in any order; ``has_before`` and ``has_after`` say whether there are rows on either side. ``searched_to``
    is the key where a scan stopped early."""

    positions: list[SortPosition]
    has_before: bool
    has_after: bool
    searched_to: int | None = None

    @property
    def keys(self) -> list[int]:
        return [position.key for position in self.positions]

    @property
    def first(self) -> SortPosition | None:
        """The position that the page before ends at; None where this page is empty."""
        return self.positions[0] if self.positions else None

    @property
    def last(self) -> SortPosition | None:
        """The position behind which the next page begins: that of the last row, or where a scan stopped."""
        if self.searched_to is not None:
            return SortPosition(None, self.searched_to)
        return self.positions[-1] if self.positions else None

    @property
    def searched_to_us(self) -> int | None:
        """The timestamp of the last row searched, in microseconds; None when all were searched."""
        return None if self.searched_to is None else ids.key_time_us(self.searched_to)


def sorted_page(
    actor: Actor,
    query: Query,
    order: SortOrder,
    *,
    after: SortPosition | None = None,
    before: SortPosition | None = None,
    limit: int = 50,
) -> SortedPage:
    """Return the rows behind ``after`` in an order, or those before ``before``; without either the first. Raises
    InvalidRequest for an amount that these rows do not have, Unavailable when it takes too long."""
    if order.is_by_time:
        return _page_by_time(actor, query, order, after, before, limit)
    start, back = (after, False) if before is None else (before, True)
    positions = numbers.sorted_positions(actor, query, order, start, back=back, limit=limit + 1)
    more = len(positions) > limit
    if back:
        return SortedPage(positions[-limit:], has_before=more, has_after=True)
    return SortedPage(positions[:limit], has_before=after is not None, has_after=more)


def _page_by_time(
    actor: Actor,
    query: Query,
    order: SortOrder,
    after: SortPosition | None,
    before: SortPosition | None,
    limit: int,
) -> SortedPage:
    after_key = None if after is None else after.key
    before_key = None if before is None else before.key
    if order.descending:
        newest = page(actor, query, after=after_key, before=before_key, limit=limit)
        return SortedPage(_positions(newest.keys), newest.has_newer, newest.has_older, newest.searched_to)
    # behind a row are then the newer ones
    oldest = page(actor, query, after=before_key, before=after_key, limit=limit, oldest_first=before is None)
    return SortedPage(_positions(oldest.keys[::-1]), oldest.has_older, oldest.has_newer)


def _positions(keys: Sequence[int]) -> list[SortPosition]:
    return [SortPosition(None, key) for key in keys]


def accepted(actor: Actor, query: Query, keys: Sequence[int], turns: Sequence[int] | None = None) -> set[int]:
    """Return those of the rows that the actor may see and the query accepts; ``turns`` are their turns,
    where the rows are not turns themselves."""
    only = keys if query.level == "turn" else turns
    rows = visible(query.level, actor).filter(pk__in=list(keys)).filter(condition(query, actor, only))
    return set(rows.values_list("pk", flat=True))


def newest(actor: Actor, query: Query, limit: int) -> list[int]:
    """Return the keys of the newest rows a query accepts, newest first."""
    rows = visible(query.level, actor).filter(condition(query, actor))
    return list(rows.order_by("-pk").values_list("pk", flat=True)[:limit])
