"""``/metrics``: the figures of this process, in the text format of Prometheus."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import metrics
from agents.base.access import Action, Actor
from agents.base.api.authentication import actor_of
from agents.base.api.views import ApiView, Awaited
from agents.base.reading import read

_READ: frozenset[Action] = frozenset({"read"})


class Metrics(ApiView):
    """For those who see everything, as the figures are sums over everybody's turns: the admin role, or the token of
    the setting METRICS_TOKEN, which opens nothing else."""

    actions = {"get": "read"}
    admins_only = True

    @staticmethod
    def identify(request: HttpRequest) -> Actor:
        sent = request.headers.get("Authorization", "").encode()
        expected = f"Bearer {settings.METRICS_TOKEN}".encode()
        if settings.METRICS_TOKEN and hmac.compare_digest(sent, expected):
            return Actor("metrics", attributes={"roles": frozenset({"admin"})}, actions=_READ)
        return actor_of(request)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponseBase:
        async def work() -> HttpResponseBase:
            # on a connection that waits for no other request: that these wait is told here, too
            return HttpResponse(await read(metrics.exposition), content_type=metrics.CONTENT_TYPE)

        return Awaited(work)
