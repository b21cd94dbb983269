"""The span query of older telemetry clients, answered from turns."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.views import ApiView, answer
from agents.telemetry.schemas.spans import QuerySpans, SpanList
from agents.telemetry.store.span_query import spans


class SpanQuery(ApiView):
    """Turns under conditions on their attributes; ``input`` and ``output`` are their beginnings."""

    actions = {"post": "read"}

    @extend_schema(operation_id="query_spans", request=QuerySpans, responses=SpanList)
    def post(self, request: Request) -> HttpResponseBase:
        body: QuerySpans = self.body(QuerySpans)
        return answer(SpanList(data=spans(self.actor, body.attribute_filters, body.attributes_to_return)))
