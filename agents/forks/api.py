"""Forking a turn over the Agents API, and comparing two turns."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, answer
from agents.forks.runner import fork
from agents.forks.runner.fork import ForkRequest
from agents.forks.schemas.comparison import Comparison
from agents.forks.schemas.forks import ForkTurn
from agents.forks.store import comparison_input
from agents.llama_stack.api import TurnView
from agents.llama_stack.schemas import TurnChunk, TurnObject
from agents.loop.current_service import service


class TurnFork(TurnView):
    """Ours: a turn beside another, from one of its steps on."""

    actions = {"post": "run"}

    @extend_schema(
        operation_id="fork_turn", request=ForkTurn, responses={200: TurnObject, (200, "text/event-stream"): TurnChunk}
    )
    def post(self, request: Request, agent_id: str, session_id: str, turn_id: str) -> HttpResponseBase:
        target = self._target(agent_id, session_id, turn_id, "run")
        body = self.body(ForkTurn)
        sent = provider_data(request._request)
        started = fork.begin(service(), ForkRequest(self.actor, target.key, body, self.raw, self._retry(), sent))
        return self._answer(started, bool(body.stream))


class TurnComparison(ApiView):
    """Ours: two turns side by side."""

    actions = {"get": "read"}

    @extend_schema(operation_id="compare_turns", responses=Comparison)
    def get(self, request: Request, turn_id: str, other_id: str) -> HttpResponseBase:
        return answer(comparison_input.comparison(self.actor, turn_id, other_id))
