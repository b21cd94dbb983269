"""Keyset pagination: pages after or before a row, in either order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.base import ids
from agents.base.errors import InvalidRequest
from agents.base.store import portions
from agents.base.store.portions import Sized

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A page of a list in the order of its keys: ``limit`` rows behind the row ``after``, or those right
    before the row ``before``; both are public ids, empty for none."""

    after: str = ""
    before: str = ""
    limit: int = 20
    newest_first: bool = True


@dataclass(frozen=True, slots=True)
class Bounds:
    """A page like `Cursor`, with keys instead of public ids."""

    after: int | None
    before: int | None
    limit: int
    newest_first: bool


def bounds(kind: ids.Kind, cursor: Cursor, what: str = "one that is listed") -> Bounds:
    """Return a page by keys of this kind of a list of OpenAI's API. Raises InvalidRequest for an id of another kind,
    which is not that of ``what``."""
    after, before = _edge(kind, cursor.after, "after", what), _edge(kind, cursor.before, "before", what)
    return Bounds(after, before, cursor.limit, cursor.newest_first)


def _edge(kind: ids.Kind, public_id: str, param: str, what: str) -> int | None:
    key = ids.parse_openai(kind, public_id) if public_id else None
    if public_id and key is None:
        raise InvalidRequest(f"{param}: not the id of {what}.", param=param)
    return key


def cut(sized: list[Sized[K]], bounds: Bounds, has_more: bool) -> tuple[list[Sized[K]], bool]:
    """Cut a page's rows, with their sizes, to what a page may hold, from where it begins; also tell whether there are
    more, where ``has_more`` says so for the uncut rows."""
    backwards = bounds.before is not None and bounds.after is None
    rows, is_cut = portions.page(reversed(sized) if backwards else sized, bounds.limit)
    return rows[::-1] if backwards else rows, has_more or is_cut


def page(rows: Any, bounds: Bounds, *columns: str) -> tuple[list[Sequence[Any]], bool]:
    """Read columns of a page of a queryset, and tell whether there are more rows in the direction it was read
    (towards older ones; for a page that ends ``before`` a row of a newest-first list, newer ones)."""
    descending = bounds.newest_first
    if bounds.after is not None:
        rows = rows.filter(pk__lt=bounds.after) if descending else rows.filter(pk__gt=bounds.after)
    if bounds.before is not None:
        rows = rows.filter(pk__gt=bounds.before) if descending else rows.filter(pk__lt=bounds.before)
    backwards = bounds.before is not None and bounds.after is None
    rows = rows.order_by("-pk" if descending != backwards else "pk")
    rows_read = list(rows.values_list(*columns)[: bounds.limit + 1])
    page_rows = rows_read[: bounds.limit]
    return page_rows[::-1] if backwards else page_rows, len(rows_read) > bounds.limit
