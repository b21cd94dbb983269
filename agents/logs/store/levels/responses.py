"""Terms of responses: the legs of turns."""

from __future__ import annotations

from django.db.models import F, Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import amount, chosen, fits, interned, moment
from agents.logs.store.levels.relations import Sight
from agents.logs.store.levels.shared_terms import Terms, named, plain
from agents.query.fields import TRUNCATING
from agents.query.tree import FieldTerm as TermNode
from agents.record.models.choices import LIVE, Api, TurnStatus


def _is(node: TermNode, sight: Sight) -> Q:
    known = {
        "live": Q(status__in=LIVE),
        "waiting": Q(status=TurnStatus.AWAITING_INPUT),
        "truncated": Q(turn__stop_reason__in=TRUNCATING, number=F("turn__leg_count")),
    }
    found = Q(pk__in=())
    for name, condition in known.items():
        found |= condition if fits(node.value, name) else Q(pk__in=())
    return found


TERMS: Terms = {
    "id": named(ids.Kind.RESPONSE),
    "response": named(ids.Kind.RESPONSE),
    "status": plain(chosen("status", TurnStatus)),
    "is": _is,
    "api": plain(chosen("api", [Api.AGENTS, Api.RESPONSES])),
    "model": plain(interned(TermKind.MODEL, "model_id")),
    "started": plain(moment("created_at")),
    "ended": plain(moment("completed_at")),
    "duration": plain(amount(F("completed_at") - F("created_at"), "completed_at")),
    "tokens": plain(amount(F("input_tokens") + F("output_tokens"))),
    "tokens.in": plain(amount(F("input_tokens"))),
    "tokens.out": plain(amount(F("output_tokens"))),
    "tokens.cached": plain(amount(F("cached_tokens"))),
    "tokens.reasoning": plain(amount(F("reasoning_tokens"))),
}
