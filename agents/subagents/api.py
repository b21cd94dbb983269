"""What a turn and the sub-agents below it have come to, and used."""

from __future__ import annotations

from collections.abc import Iterable

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.views import ApiView, answer
from agents.base.errors import NotFound
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.record.store import call_trees
from agents.subagents.schemas import CalledTurns, UsedByTurns


class TurnsCalled(ApiView):
    """Ours: all turns below a turn, the newest first, and what the turn has used by itself and with them."""

    actions = {"get": "read"}

    @extend_schema(operation_id="list_called_turns", responses=CalledTurns)
    def get(self, request: Request, turn_id: str) -> HttpResponseBase:
        key = turn_log.key_of(turn_id)
        rows = turn_log.turn_rows(self.actor, [key]) if key is not None else []
        if key is None or not rows:
            raise NotFound(f"Turn '{turn_id[:80]}' not found.")
        tree = call_trees.below(self.actor, key)
        called = turn_log.turn_rows(self.actor, [turn.key for turn in tree.called])
        return answer(CalledTurns(data=called, own=_used(rows), total=_used([*rows, *called])))


def _used(rows: Iterable[TurnRow]) -> UsedByTurns:
    turns = list(rows)
    costs = [row.cost_usd for row in turns if row.cost_usd is not None]
    return UsedByTurns(
        turns=len(turns),
        total_tokens=sum(row.usage.total_tokens or 0 for row in turns),
        cost_usd=sum(costs) if costs else None,
    )
