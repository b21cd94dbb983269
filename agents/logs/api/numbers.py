"""``/v1/logs/<level>/facets``, ``histogram`` and ``stats``: count over all rows that a query accepts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base.api.parameters import QUERY, ZONE, names, number
from agents.base.api.views import ApiView, answer, query_list
from agents.base.errors import InvalidRequest
from agents.logs.api.logs import echo, read_query
from agents.logs.schemas.numbers import FacetsAnswer, HistogramAnswer, StatsAnswer
from agents.logs.store import numbers
from agents.query.tree import Level, Query

DEFAULTS: dict[Level, list[str]] = {
    "session": ["agent", "source"],
    "turn": ["status", "agent", "model", "type", "tool", "source"],
    "response": ["status", "model", "agent"],
    "step": ["status", "type", "tool", "model", "agent"],
}
"""The facets of each level when none are named."""
LIMIT_CAP, GROUP_CAP = 1000, 10_000


class _Numbers(ApiView):
    """Numbers of rows of one level."""

    actions = {"get": "read"}
    level: ClassVar[Level]

    def query(self, request: HttpRequest) -> Query:
        return read_query(request, self.level)

    @abstractmethod
    def respond(self, request: HttpRequest) -> HttpResponseBase:
        """Compute the numbers and return the response."""


class FacetsView(_Numbers):
    """How many rows have which value of a field. A field the query constrains by a condition of its
    own is counted without it."""

    def respond(self, request: HttpRequest) -> HttpResponseBase:
        query = self.query(request)
        by = query_list(request, "by") or DEFAULTS[self.level]
        limit = _number(request, "limit", numbers.LIMIT, LIMIT_CAP)
        return answer(FacetsAnswer(data=numbers.facets(self.actor, query, by, limit), query=echo(query)))


class HistogramView(_Numbers):
    """Rows over time, by how they ended; the buckets' counts sum up to ``total``."""

    def respond(self, request: HttpRequest) -> HttpResponseBase:
        query = self.query(request)
        buckets = _number(request, "buckets", numbers.BUCKETS, numbers.MAX_BUCKETS)
        data, width = numbers.histogram(self.actor, query, buckets, zone=_zone(request))
        total = sum(bucket.completed + bucket.failed + bucket.stopped + bucket.live for bucket in data)
        return answer(HistogramAnswer(data=data, width=width, total=total, query=echo(query)))


class StatisticsView(_Numbers):
    """Sums and percentiles of all rows, and of groups of them: ``by`` one or two fields or lengths of
    time."""

    def respond(self, request: HttpRequest) -> HttpResponseBase:
        query, by = self.query(request), query_list(request, "by") or []
        limit = _number(request, "limit", numbers.GROUPS, GROUP_CAP)
        data = numbers.stats(self.actor, query)
        if not by:
            return answer(StatsAnswer(data=data, query=echo(query)))
        groups = numbers.groups(self.actor, query, by, limit, _zone(request))
        return answer(StatsAnswer(data=data, by=groups.by, groups=groups.groups, more=groups.more, query=echo(query)))


def _zone(request: HttpRequest) -> ZoneInfo:
    """Return the viewer's zone; parsing the query has checked it before."""
    return ZoneInfo(request.GET.get("tz") or "UTC")


def _number(request: HttpRequest, name: str, default: int, maximum: int) -> int:
    raw = request.GET.get(name) or str(default)
    if not raw.isdecimal() or len(raw) > 6 or not 1 <= int(raw) <= maximum:
        raise InvalidRequest(f"{name}: a whole number from 1 to {maximum} is needed.", param=name)
    return int(raw)


def _view(
    kind: type[_Numbers], name: str, level: Level, answered: Any, parameters: Sequence[OpenApiParameter]
) -> type[ApiView]:
    """The view of one level, with its own entry in the OpenAPI."""

    @extend_schema(
        operation_id=f"{level}_log_{name}",
        description=kind.__doc__,
        parameters=[QUERY, ZONE, *parameters],
        responses=answered,
    )
    def get(self: _Numbers, request: Request) -> HttpResponseBase:
        return self.respond(request._request)

    return type(f"{level.title()}{kind.__name__}", (kind,), {"level": level, "get": get, "__doc__": kind.__doc__})


_BY = names("by", "Fields of the rows")
_KINDS: tuple[tuple[type[_Numbers], str, Any, Sequence[OpenApiParameter]], ...] = (
    (FacetsView, "facets", FacetsAnswer, [_BY, number("limit", LIMIT_CAP)]),
    (HistogramView, "histogram", HistogramAnswer, [number("buckets", numbers.MAX_BUCKETS)]),
    (StatisticsView, "stats", StatsAnswer, [_BY, number("limit", GROUP_CAP)]),
)
ROUTES: list[tuple[str, type[ApiView]]] = [
    (f"logs/{level}s/{name}", _view(kind, name, level, answered, parameters))
    for level in DEFAULTS
    for kind, name, answered, parameters in _KINDS
]
