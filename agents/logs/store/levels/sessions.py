"""Terms of sessions."""

from __future__ import annotations

from django.db.models import F, Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import EVERYTHING, amount, chosen, keys_named, moment
from agents.logs.store.levels import turns
from agents.logs.store.levels.relations import Sight
from agents.logs.store.levels.shared_terms import (
    Terms,
    feedback_terms,
    folded,
    judged,
    meta_start,
    named,
    plain,
    tagged,
)
from agents.query.tree import FieldTerm as TermNode
from agents.record.models.choices import Api, Source
from agents.record.models.tags import SessionTag


def _session(node: TermNode, sight: Sight) -> Q:
    """By name or id."""
    if node.op == "has":
        return EVERYTHING
    same = folded("folded", node.value) | Q(pk__in=keys_named(ids.Kind.SESSION, node.value))
    return ~same if node.op == "!=" else same


TERMS: Terms = {
    "id": named(ids.Kind.SESSION),
    "session": _session,
    "agent": turns.agent,
    "api": plain(chosen("api", [Api.AGENTS, Api.RESPONSES])),
    "source": plain(chosen("source", Source)),
    "started": plain(moment("created_at")),
    "tokens": plain(amount(F("input_tokens") + F("output_tokens"))),
    "tokens.in": plain(amount(F("input_tokens"))),
    "tokens.out": plain(amount(F("output_tokens"))),
    "cost": plain(amount(F("cost_nano"), "cost_nano")),
    "tag": tagged(SessionTag, "session_id", TermKind.TAG, lambda node: ""),
    "meta": tagged(SessionTag, "session_id", TermKind.META, meta_start),
    **feedback_terms(judged("session_id"), "session_id"),
}
