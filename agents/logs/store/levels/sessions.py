"""Terms of sessions."""

from __future__ import annotations

from django.db.models import F, Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import EVERYTHING, amount, chosen, keys_of_id, timestamp
from agents.logs.store.levels import turns
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import (
    Terms,
    by_id,
    folded_equals,
    metadata_prefix,
    tag_term,
    without_context,
)
from agents.query.tree import FieldTerm
from agents.record.models.choices import Api, Source
from agents.record.models.tags import SessionTag


def _session(node: FieldTerm, context: QueryContext) -> Q:
    """By name or id."""
    if node.op == "has":
        return EVERYTHING
    same = folded_equals("folded", node.value) | Q(pk__in=keys_of_id(ids.Kind.SESSION, node.value))
    return ~same if node.op == "!=" else same


TERMS: Terms = {
    "id": by_id(ids.Kind.SESSION),
    "session": _session,
    "agent": turns.agent,
    "api": without_context(chosen("api", [Api.AGENTS, Api.RESPONSES])),
    "source": without_context(chosen("source", Source)),
    "started": without_context(timestamp("created_at")),
    "tokens": without_context(amount(F("input_tokens") + F("output_tokens"))),
    "tokens.in": without_context(amount(F("input_tokens"))),
    "tokens.out": without_context(amount(F("output_tokens"))),
    "cost": without_context(amount(F("cost_nano"), "cost_nano")),
    "tag": tag_term(SessionTag, "session_id", TermKind.TAG, lambda node: ""),
    "meta": tag_term(SessionTag, "session_id", TermKind.META, metadata_prefix),
}
