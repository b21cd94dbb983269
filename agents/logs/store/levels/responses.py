"""Terms of responses: the parts of a turn, one for each request."""

from __future__ import annotations

from django.db.models import F, Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import amount, chosen, interned_name, timestamp, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import Terms, by_id, without_context
from agents.query.fields import TRUNCATING
from agents.query.tree import FieldTerm
from agents.record.models.choices import LIVE, Api, TurnStatus


def _is(node: FieldTerm, context: QueryContext) -> Q:
    marks = {
        "live": Q(status__in=LIVE),
        "waiting": Q(status=TurnStatus.AWAITING_INPUT),
        "truncated": Q(turn__stop_reason__in=TRUNCATING, number=F("turn__leg_count")),
    }
    matching = Q(pk__in=())
    for name, condition in marks.items():
        matching |= condition if value_matches(node.value, name) else Q(pk__in=())
    return matching


TERMS: Terms = {
    "id": by_id(ids.Kind.RESPONSE),
    "response": by_id(ids.Kind.RESPONSE),
    "status": without_context(chosen("status", TurnStatus)),
    "is": _is,
    "api": without_context(chosen("api", [Api.AGENTS, Api.RESPONSES])),
    "model": without_context(interned_name(TermKind.MODEL, "model_id")),
    "started": without_context(timestamp("created_at")),
    "ended": without_context(timestamp("completed_at")),
    "duration": without_context(amount(F("completed_at") - F("created_at"), "completed_at")),
    "tokens": without_context(amount(F("input_tokens") + F("output_tokens"))),
    "tokens.in": without_context(amount(F("input_tokens"))),
    "tokens.out": without_context(amount(F("output_tokens"))),
    "tokens.cached": without_context(amount(F("cached_tokens"))),
    "tokens.reasoning": without_context(amount(F("reasoning_tokens"))),
}
