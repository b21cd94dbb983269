"""The lists of OpenAI's API as they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse

from agents.base.api.cursors import cursor
from agents.base.api.negotiation import json_response
from agents.base.errors import InvalidRequest


def list_json(bodies: Sequence[bytes], names: Sequence[str], *, more: bool) -> HttpResponse:
    """``{"object": "list", "data": […], "first_id", "last_id", "has_more"}`` of objects as JSON."""
    first, last = (names[0], names[-1]) if names else ("", "")
    return json_response(
        b'{"object":"list","data":[%b],"first_id":%b,"last_id":%b,"has_more":%b}'
        % (b",".join(bodies), msgspec.json.encode(first), msgspec.json.encode(last), msgspec.json.encode(more))
    )


def item_page(request: HttpRequest, found: list[dict[str, Any]]) -> HttpResponse:
    """A page of items that are at hand, the newest first unless asked otherwise."""
    bounds = cursor(request)
    found = found[::-1] if bounds.newest_first else found
    start, end = 0, len(found)
    if bounds.after:
        start = _place(found, bounds.after, "after") + 1
    if bounds.before:
        end = _place(found, bounds.before, "before")
        start = max(end - bounds.limit, 0)
    shown = found[start : min(end, start + bounds.limit)]
    more = start > 0 if bounds.before else start + len(shown) < len(found)
    return list_json([msgspec.json.encode(item) for item in shown], [item["id"] for item in shown], more=more)


def _place(found: Sequence[dict[str, Any]], item_id: str, name: str) -> int:
    place = next((number for number, item in enumerate(found) if item["id"] == item_id), None)
    if place is None:
        raise InvalidRequest(f"{name}: there is no item '{item_id[:80]}'.", param=name)
    return place
