"""Pages of items, and single ones, for the APIs of responses and conversations."""

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
from agents.responses.wire.items import of_row


def item_page(request: HttpRequest, line: ItemQuery) -> HttpResponseBase:
    """A page of items, the newest first unless asked otherwise; it ends early where they are large."""
    bounds = cursor(request)
    edge, backwards = bounds.after or bounds.before, bool(bounds.before)
    rows = _from(line, edge, newest_first=bounds.newest_first != backwards, at_once=bounds.limit + 2)
    if edge and next(rows, None) is None:
        name = "before" if backwards else "after"
        raise InvalidRequest(f"{name}: there is no item '{edge[:80]}'.", param=name)
    sized = ((body, len(body[1])) for body in ((item["id"], encode(item)) for _, item in rows))
    shown, more = portions.page(sized, bounds.limit)
    found = [body for body, _ in (reversed(shown) if backwards else shown)]
    return list_json(((body,) for _, body in found), [name for name, _ in found], has_more=more)


Item = dict[str, Any]


def find_item(line: ItemQuery, item_id: str) -> tuple[ItemSnapshot, Item]:
    """The row of an item, and the item. Raises NotFound."""
    found = next(_from(line, item_id), None)
    if found is None:
        raise NotFound(f"Item '{item_id[:80]}' not found.")
    return found


def _from(
    line: ItemQuery, item_id: str, *, newest_first: bool = False, at_once: int = MAX_ROWS
) -> Iterator[tuple[ItemSnapshot, Item]]:
    """The items of a line with their rows, from one on if one is named; nothing where that is not there."""
    # an id tells where its item is, but for one that was taken along to another conversation
    start = line.near(item_id, newest_first=newest_first) if item_id else None
    for begin in (None,) if start is None else (start, None):
        seen = not item_id
        for row in line.walk(newest_first=newest_first, start=begin, at_once=at_once):
            items = of_row(row)
            for item in reversed(items) if newest_first else items:
                seen = seen or item["id"] == item_id
                if seen:
                    yield row, item
        if seen:
            return
