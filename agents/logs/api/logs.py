"""``/v1/logs``: list the same rows as the pages, under the same query."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.parameters import AFTER, BEFORE, LIMIT, ORDER, QUERY, ZONE
from agents.base.api.views import ApiView, answer
from agents.base.errors import InvalidRequest
from agents.logs.schemas.rows import LogPage, QueryEcho, ResponseLogPage, SessionLogPage, StepLogPage, TurnPage
from agents.logs.store import listing, rows
from agents.query import parser
from agents.query.describe import describe
from agents.query.tree import Level, Query

PAGE, MAX_PAGE = 50, 1000
KINDS: dict[Level, ids.Kind] = {
    "session": ids.Kind.SESSION,
    "turn": ids.Kind.TURN,
    "response": ids.Kind.RESPONSE,
    "step": ids.Kind.STEP,
}
_PARAMETERS = [QUERY, ZONE, AFTER, BEFORE, LIMIT, ORDER]


class _Log(ApiView):
    """Rows of a level under a query."""

    actions = {"get": "read"}
    level: ClassVar[Level]
    answers: ClassVar[type[LogPage[Any]]]

    def listed(self, request: HttpRequest) -> HttpResponseBase:
        query = read_query(request, self.level)
        after, before = (_key(request, name, self.level) for name in ("after", "before"))
        if after is not None and before is not None:
            raise InvalidRequest("before: either after or before, not both.", param="before")
        if _oldest_first(request):  # behind a row are then the newer ones
            page = listing.page(
                self.actor, query, after=before, before=after, limit=_limit(request), oldest_first=before is None
            )
            keys, more = page.keys[::-1], page.has_newer if before is None else page.has_older
        else:
            page = listing.page(self.actor, query, after=after, before=before, limit=_limit(request))
            keys, more = page.keys, page.has_newer if before is not None else page.has_older
        last_key = keys[-1] if keys else None
        if page.searched_to is not None:
            last_key = page.searched_to
        return answer(
            self.answers(
                data=rows.of(self.level, keys),
                has_more=more,
                searched_to=page.searched_to_us,
                first_id=public(self.level, keys[0]) if keys else None,
                last_id=public(self.level, last_key) if last_key is not None else None,
                query=echo(query),
            )
        )


class TurnLogView(_Log):
    """Turns under a query, newest first."""

    level, answers = "turn", TurnPage

    @extend_schema(operation_id="list_turn_log", parameters=_PARAMETERS, responses=TurnPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


class SessionLogView(_Log):
    """Sessions under a query, newest first."""

    level, answers = "session", SessionLogPage

    @extend_schema(operation_id="list_session_log", parameters=_PARAMETERS, responses=SessionLogPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


class StepLogView(_Log):
    """Steps under a query, newest first."""

    level, answers = "step", StepLogPage

    @extend_schema(operation_id="list_step_log", parameters=_PARAMETERS, responses=StepLogPage)
    def get(self, request: Request) -> HttpResponseBase:
        return self.listed(request._request)


class ResponseLogView(_Log):
    """Responses of OpenAI's API under a query, newest first."""

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


def public(level: Level, key: int) -> str:
    """Return the public id of a row: of a response that of OpenAI's API."""
    return ids.openai(ids.Kind.RESPONSE, key) if level == "response" else ids.public(KINDS[level], key)


def _key(request: HttpRequest, name: str, level: Level) -> int | None:
    raw = request.GET.get(name)
    if not raw:
        return None
    key = ids.parse_openai(ids.Kind.RESPONSE, raw) if level == "response" else ids.parse(KINDS[level], raw)
    if key is None:
        raise InvalidRequest(f"{name}: not the id of a {level}.", param=name)
    return key


def _limit(request: HttpRequest) -> int:
    raw = request.GET.get("limit") or str(PAGE)
    if not raw.isdecimal() or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), MAX_PAGE)


def _oldest_first(request: HttpRequest) -> bool:
    order = request.GET.get("order") or "desc"
    if order not in ("asc", "desc"):
        raise InvalidRequest("order: say asc or desc.", param="order")
    return order == "asc"
