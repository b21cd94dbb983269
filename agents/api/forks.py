"""Forking a turn over the Agents API, and comparing two turns."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.api.agents import TurnView
from agents.api.base import ApiView, answer
from agents.api.provider_data import provider_data
from agents.runner import fork
from agents.runner.current import service
from agents.runner.fork import Asked
from agents.schemas.agents import Turn, TurnChunk
from agents.schemas.comparison import Comparison
from agents.schemas.forks import ForkTurn
from agents.store import sides


class TurnFork(TurnView):
    """Ours: a turn beside another, from one of its steps on."""

    actions = {"post": "run"}

    @extend_schema(
        operation_id="fork_turn", request=ForkTurn, responses={200: Turn, (200, "text/event-stream"): TurnChunk}
    )
    def post(self, request: Request, agent_id: str, session_id: str, turn_id: str) -> HttpResponseBase:
        place = self._place(agent_id, session_id, turn_id, "run")
        body = self.body(ForkTurn)
        sent = provider_data(request._request)
        started = fork.begin(service(), Asked(self.actor, place.key, body, self.raw, self._retry(), sent))
        return self._answer(started, bool(body.stream))


class TurnComparison(ApiView):
    """Ours: two turns side by side."""

    actions = {"get": "read"}

    @extend_schema(operation_id="compare_turns", responses=Comparison)
    def get(self, request: Request, turn_id: str, other_id: str) -> HttpResponse:
        return answer(sides.comparison(self.actor, turn_id, other_id))
