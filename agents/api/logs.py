"""``/v1/logs``: the same rows the pages show, under the same query."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents import ids
from agents.api.base import ApiView, answer
from agents.errors import InvalidRequest
from agents.query.describe import describe
from agents.query.parser import parse
from agents.query.tree import Query
from agents.schemas.logs import QueryEcho, TurnPage
from agents.store import logs

PAGE, CAP = 50, 1000


class TurnLog(ApiView):
    """Turns under a query, newest first."""

    actions = {"get": "read"}

    @extend_schema(
        operation_id="list_turn_log",
        parameters=[OpenApiParameter(name, str) for name in ("q", "tz", "after", "before", "limit")],
        responses=TurnPage,
    )
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request._request)
        after, before = _turn_key(request._request, "after"), _turn_key(request._request, "before")
        page = logs.turns_page(self.actor, query, after=after, before=before, limit=_limit(request._request))
        rows = page.rows
        return answer(
            TurnPage(
                data=rows,
                has_more=page.has_newer if before is not None else page.has_older,
                first_id=ids.public(ids.Kind.TURN, rows[0].id) if rows else None,
                last_id=ids.public(ids.Kind.TURN, rows[-1].id) if rows else None,
                query=QueryEcho(
                    text=query.text, tree=query.tree.model_dump(mode="json"), sentence=describe(query, "turn")
                ),
            )
        )


def read_query(request: HttpRequest) -> Query:
    """The query of a request. Raises QuerySyntax."""
    return parse(request.GET.get("q", ""), now_us=ids.now_us(), zone=request.GET.get("tz") or "UTC")


def _turn_key(request: HttpRequest, name: str) -> int | None:
    raw = request.GET.get(name)
    if not raw:
        return None
    key = ids.parse(ids.Kind.TURN, raw)
    if key is None:
        raise InvalidRequest(f"{name}: not the id of a turn.", param=name)
    return key


def _limit(request: HttpRequest) -> int:
    raw = request.GET.get("limit") or str(PAGE)
    if not raw.isdecimal() or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), CAP)
