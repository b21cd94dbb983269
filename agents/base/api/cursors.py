"""Parses the paging parameters of OpenAI's lists: ``after``, ``before``, ``limit``, ``order``."""

from __future__ import annotations

from django.http import HttpRequest

from agents.base.api.parameters import AFTER, BEFORE, LIMIT, ORDER
from agents.base.errors import InvalidRequest
from agents.base.store.keyset import Cursor

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
CURSOR_PARAMETERS = [AFTER, BEFORE, LIMIT, ORDER]


def cursor(request: HttpRequest, default_limit: int = DEFAULT_LIMIT, max_limit: int = MAX_LIMIT) -> Cursor:
    """Return the page that a request asks for. Raises InvalidRequest naming the parameter."""
    order = _parameter(request, "order") or "desc"
    if order not in ("asc", "desc"):
        raise InvalidRequest("order: asc or desc.", param="order")
    after, before = _parameter(request, "after"), _parameter(request, "before")
    if after and before:
        raise InvalidRequest("before: either after or before, not both.", param="before")
    return Cursor(
        after, before, _limit(_parameter(request, "limit"), default_limit, max_limit), newest_first=order == "desc"
    )


def _parameter(request: HttpRequest, name: str) -> str:
    """Return a query parameter. Some clients send a placeholder for a missing one; it counts as ''."""
    value = request.GET.get(name, "")
    return "" if value in ("NOT_GIVEN", "null", "None") or value.startswith("<") else value


def _limit(raw: str, default_limit: int, max_limit: int) -> int:
    if not raw:
        return default_limit
    if not (raw.isascii() and raw.isdecimal()) or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), max_limit)
