"""Pages of items, and single items, for the APIs of responses and conversations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from agents.base.api.cursors import cursor
from agents.base.api.lists import encode, list_json
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import portions
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store.items import MAX_ROWS, ItemQuery
from agents.responses.wire.items import items_of_row


def item_page(request: HttpRequest, query: ItemQuery) -> HttpResponseBase:
    """Answer with a page of items, by default newest first; a page of large items ends early."""
    bounds = cursor(request)
    edge, backwards = bounds.after or bounds.before, bool(bounds.before)
    rows = _items_from(query, edge, newest_first=bounds.newest_first != backwards, at_once=bounds.limit + 2)
    if edge and next(rows, None) is None:
        name = "before" if backwards else "after"
        raise InvalidRequest(f"{name}: there is no item '{edge[:80]}'.", param=name)
    sized = ((body, len(body[1])) for body in ((item["id"], encode(item)) for _, item in rows))
    page, more = portions.page(sized, bounds.limit)
    bodies = [body for body, _ in (reversed(page) if backwards else page)]
    return list_json(((body,) for _, body in bodies), [name for name, _ in bodies], has_more=more)


ItemJson = dict[str, Any]


def find_item(query: ItemQuery, item_id: str) -> tuple[ItemSnapshot, ItemJson]:
    """Find an item; returns its row and itself. Raises NotFound."""
    located = next(_items_from(query, item_id), None)
    if located is None:
        raise NotFound(f"Item '{item_id[:80]}' not found.")
    return located


def _items_from(
    query: ItemQuery, item_id: str, *, newest_first: bool = False, at_once: int = MAX_ROWS
) -> Iterator[tuple[ItemSnapshot, ItemJson]]:
    """Yield the items of a query with their rows, from ``item_id`` on if given; nothing if it is not found."""
    # an id tells the position of its item, unless the item was copied to another conversation
    start = query.near(item_id, newest_first=newest_first) if item_id else None
    for first in (None,) if start is None else (start, None):
        is_after = not item_id
        for row in query.walk(newest_first=newest_first, start=first, at_once=at_once):
            items = items_of_row(row)
            for item in reversed(items) if newest_first else items:
                is_after = is_after or item["id"] == item_id
                if is_after:
                    yield row, item
        if is_after:
            return
