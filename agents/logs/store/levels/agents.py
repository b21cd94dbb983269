"""Terms of agents."""

from __future__ import annotations

from django.db.models import Q

from agents.base import ids
from agents.logs.store.conditions import EVERYTHING, chosen, keys_of_id, timestamp, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import Terms, by_id, without_context
from agents.query.tree import FieldTerm
from agents.record.models.agents import Agent
from agents.record.models.choices import Source


def _agent(node: FieldTerm, context: QueryContext) -> Q:
    """By name or id; names are few and compared in Python."""
    if node.op == "has":
        return EVERYTHING
    rows = Agent.objects.unscoped("names only; the agents are visible").values_list("pk", "name", "model")
    matching = [key for key, name, model in rows if value_matches(node.value, name or model)]
    same = Q(pk__in=[*matching, *keys_of_id(ids.Kind.AGENT, node.value)])
    return ~same if node.op == "!=" else same


TERMS: Terms = {
    "id": by_id(ids.Kind.AGENT),
    "agent": _agent,
    "source": without_context(chosen("source", Source)),
    "started": without_context(timestamp("created_at")),
}
