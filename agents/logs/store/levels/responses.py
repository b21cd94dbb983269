"""Terms of responses: the parts of a turn, one for each request."""

from __future__ import annotations

from django.db.models import F, Q

from agents.logs.store.conditions import amount, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import Terms, without_context
from agents.logs.store.levels.stored_terms import stored_terms
from agents.query.tree import FieldTerm
from agents.record.models.choices import INCOMPLETE, LIVE, RESPONSE_STATUSES, TRUNCATING, TurnStatus


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


_INCOMPLETE = Q(
    status=TurnStatus.COMPLETED,
    number=F("turn__leg_count"),
    turn__status=TurnStatus.COMPLETED,
    turn__stop_reason__in=TRUNCATING,
)


def _status(node: FieldTerm, context: QueryContext) -> Q:
    """By the wire's word: a response that a limit cut is incomplete, not completed."""
    numbers = {number for number, label in RESPONSE_STATUSES if value_matches(node.value, label)}
    if node.op == "!=":
        numbers = {number for number, _ in RESPONSE_STATUSES} - numbers
    matching = Q(status__in=sorted(numbers - {INCOMPLETE}))
    if (INCOMPLETE in numbers) == (TurnStatus.COMPLETED in numbers):
        return matching
    return matching | _INCOMPLETE if INCOMPLETE in numbers else matching & ~_INCOMPLETE


TERMS: Terms = {
    **stored_terms("response"),
    "status": _status,
    "is": _is,
    "duration": without_context(amount(F("completed_at") - F("created_at"), "completed_at")),
}
