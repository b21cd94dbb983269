"""Terms of sessions."""

from __future__ import annotations

from django.db.models import Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import EVERYTHING, keys_of_id
from agents.logs.store.levels import turns
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import (
    Terms,
    folded_equals,
    metadata_prefix,
    tag_term,
)
from agents.logs.store.levels.stored_terms import stored_terms
from agents.query.tree import FieldTerm
from agents.record.models.tags import SessionTag


def _session(node: FieldTerm, context: QueryContext) -> Q:
    """By name or id."""
    if node.op == "has":
        return EVERYTHING
    same = folded_equals("folded", node.value) | Q(pk__in=keys_of_id(ids.Kind.SESSION, node.value))
    return ~same if node.op == "!=" else same


TERMS: Terms = {
    **stored_terms("session"),
    "session": _session,
    "agent": turns.agent,
    "tag": tag_term(SessionTag, "session_id", TermKind.TAG, lambda node: ""),
    "meta": tag_term(SessionTag, "session_id", TermKind.META, metadata_prefix),
}
