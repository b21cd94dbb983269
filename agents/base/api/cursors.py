"""Which page of an OpenAI list a request asks for: ``after``, ``before``, ``limit``, ``order``."""

from __future__ import annotations

from django.http import HttpRequest

from agents.base.api.parameters import AFTER, BEFORE, LIMIT, ORDER
from agents.base.errors import InvalidRequest
from agents.base.store.keyset import Cursor

PAGE, CAP = 20, 100
CURSOR = [AFTER, BEFORE, LIMIT, ORDER]


def cursor(request: HttpRequest, page: int = PAGE, cap: int = CAP) -> Cursor:
    """The page that is asked for. Raises InvalidRequest naming the parameter."""
    order = _given(request, "order") or "desc"
    if order not in ("asc", "desc"):
        raise InvalidRequest("order: asc or desc.", param="order")
    after, before = _given(request, "after"), _given(request, "before")
    if after and before:
        raise InvalidRequest("before: either after or before, not both.", param="before")
    return Cursor(after, before, _limit(_given(request, "limit"), page, cap), newest_first=order == "desc")


def _given(request: HttpRequest, name: str) -> str:
    """What was given. Some clients write out that nothing was."""
    value = request.GET.get(name, "")
    return "" if value in ("NOT_GIVEN", "null", "None") or value.startswith("<") else value


def _limit(raw: str, page: int, cap: int) -> int:
    if not raw:
        return page
    if not (raw.isascii() and raw.isdecimal()) or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), cap)
