"""Terms of agents."""

from __future__ import annotations

from django.db.models import Q

from agents.base import ids
from agents.logs.store.conditions import EVERYTHING, keys_of_id, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import Terms
from agents.logs.store.levels.stored_terms import stored_terms
from agents.query.tree import FieldTerm
from agents.record.models.agents import Agent


def _agent(node: FieldTerm, context: QueryContext) -> Q:
    """By name or id; names are few and compared in Python."""
    if node.op == "has":
        return EVERYTHING
    rows = Agent.objects.unscoped("names only; the agents are visible").values_list("pk", "name", "model")
    matching = [key for key, name, model in rows if value_matches(node.value, name or model)]
    same = Q(pk__in=[*matching, *keys_of_id(ids.Kind.AGENT, node.value)])
    return ~same if node.op == "!=" else same


TERMS: Terms = {**stored_terms("agent"), "agent": _agent}
