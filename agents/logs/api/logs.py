"""``/v1/logs``: list the same rows as the pages, under the same query."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Actor
from agents.base.api.parameters import AFTER, BEFORE, LIMIT, ORDER, QUERY, ZONE
from agents.base.api.views import ApiView, answer
from agents.base.errors import InvalidRequest
from agents.logs.schemas.row_ids import cursor_of, key_of, position_of, public
from agents.logs.schemas.rows import LogPage, QueryEcho, ResponseLogPage, SessionLogPage, StepLogPage, TurnPage
from agents.logs.schemas.sorting import SORT_FIELDS, SortOrder, SortPosition, read_order
from agents.logs.store import listing, numbers, rows
from agents.query import parser
from agents.query.describe import describe
from agents.query.tree import Level, Query

PAGE, MAX_PAGE = 50, 1000
SORT = OpenApiParameter(
    "sort",
    str,
    enum=[f"{sign}{name}" for name in SORT_FIELDS for sign in ("-", "")],
    description="What the rows are sorted by, with a minus the largest first. Rows without it come last.",
)
_PARAMETERS = [QUERY, ZONE, SORT, AFTER, BEFORE, LIMIT, ORDER]


class _Log(ApiView):
    """Rows of a level under a query."""

    actions = {"get": "read"}
    level: ClassVar[Level]
    answers: ClassVar[type[LogPage[Any]]]

    def listed(self, request: HttpRequest) -> HttpResponseBase:
        query, order = read_query(request, self.level), read_order(request.GET.get("sort", ""))
        if request.GET.get("after") and request.GET.get("before"):
            raise InvalidRequest("before: either after or before, not both.", param="before")
        if request.GET.get("sort") and request.GET.get("order"):
            raise InvalidRequest("order: sort says already what comes first.", param="order")
        if oldest_first(request):
            order = SortOrder("started", descending=False)
        after, before = (_position(self.actor, request, name, self.level, order) for name in ("after", "before"))
        page = listing.sorted_page(self.actor, query, order, after=after, before=before, limit=_limit(request))
        first, last = page.first, page.last
        return answer(
            self.answers(
                data=rows.of(self.level, page.keys),
                has_more=page.has_before if before is not None else page.has_after,
                searched_to=page.searched_to_us,
                first_id=first and public(self.level, first.key),
                last_id=last and public(self.level, last.key),
                first_cursor=first and cursor_of(self.level, order, first),
                last_cursor=last and cursor_of(self.level, order, last),
                query=echo(query),
            )
        )


class TurnLogView(_Log):
    """Turns under a query, newest first or in the order that ``sort`` says."""

    level, answers = "turn", TurnPage

    @extend_schema(operation_id="list_turn_log", parameters=_PARAMETERS, responses=TurnPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


class SessionLogView(_Log):
    """Sessions under a query, newest first or in the order that ``sort`` says."""

    level, answers = "session", SessionLogPage

    @extend_schema(operation_id="list_session_log", parameters=_PARAMETERS, responses=SessionLogPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


class StepLogView(_Log):
    """Steps under a query, newest first or in the order that ``sort`` says."""

    level, answers = "step", StepLogPage

    @extend_schema(operation_id="list_step_log", parameters=_PARAMETERS, responses=StepLogPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


class ResponseLogView(_Log):
    """Responses of OpenAI's API under a query, newest first or in the order that ``sort`` says."""

    level, answers = "response", ResponseLogPage

    @extend_schema(operation_id="list_response_log", parameters=_PARAMETERS, responses=ResponseLogPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


def read_query(request: HttpRequest, level: Level = "turn") -> Query:
    """Parse the query of a request, a text or a tree in JSON. Raises QuerySyntax."""
    zone = request.GET.get("tz") or "UTC"
    return parser.read(request.GET.get("q", ""), now_us=ids.now_us(), zone=zone, level=level)


def echo(query: Query) -> QueryEcho:
    """Return the query as it was understood."""
    return QueryEcho(text=query.text, tree=query.tree.model_dump(mode="json"), sentence=describe(query))


def _position(actor: Actor, request: HttpRequest, name: str, level: Level, order: SortOrder) -> SortPosition | None:
    """Read a cursor, or the id of a row, whose position is that of its amount now."""
    raw = request.GET.get(name)
    if not raw:
        return None
    key, position = key_of(level, raw), position_of(level, raw)
    if position is not None and not order.is_by_time:
        return position
    if key is None:
        raise InvalidRequest(f"{name}: not the id of a {level}.", param=name)
    if order.is_by_time:
        return SortPosition(None, key)
    row = parser.read(f"id:{raw}", now_us=ids.now_us(), zone="UTC", level=level)
    positions = numbers.sorted_positions(actor, row, order, limit=1)
    if not positions:
        raise InvalidRequest(f"{name}: there is no such {level} any more.", param=name)
    return positions[0]


def _limit(request: HttpRequest) -> int:
    raw = request.GET.get("limit") or str(PAGE)
    if not raw.isdecimal() or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), MAX_PAGE)


def oldest_first(request: HttpRequest) -> bool:
    """Return whether a request asks for the oldest first. Raises InvalidRequest."""
    order = request.GET.get("order") or "desc"
    if order not in ("asc", "desc"):
        raise InvalidRequest("order: say asc or desc.", param="order")
    return order == "asc"
