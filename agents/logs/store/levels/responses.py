"""Terms of responses: the parts of a turn, one for each request."""

from __future__ import annotations

from django.db.models import F, Q

from agents.logs.store.conditions import amount, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import Terms, without_context
from agents.logs.store.levels.stored_terms import stored_terms
from agents.query.tree import FieldTerm
from agents.record.models.choices import LIVE, TRUNCATING, TurnStatus


def _is(node: FieldTerm, context: QueryContext) -> Q:
    marks = {
        "live": Q(status__in=LIVE),
        "waiting": Q(status=TurnStatus.AWAITING_INPUT),
        "undecided": Q(status__in=LIVE, turn__doubt_at__isnull=False),
        "truncated": Q(turn__stop_reason__in=TRUNCATING, number=F("turn__leg_count")),
    }
    matching = Q(pk__in=())
    for name, condition in marks.items():
        matching |= condition if value_matches(node.value, name) else Q(pk__in=())
    return matching


TERMS: Terms = {
    **stored_terms("response"),
    "is": _is,
    "duration": without_context(amount(F("completed_at") - F("created_at"), "completed_at")),
}
