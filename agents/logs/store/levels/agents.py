"""Terms of agents."""

from __future__ import annotations

from django.db.models import Q

from agents.base import ids
from agents.logs.store.conditions import EVERYTHING, chosen, fits, keys_named, moment
from agents.logs.store.levels.relations import Sight
from agents.logs.store.levels.shared_terms import Terms, named, plain
from agents.query.tree import FieldTerm as TermNode
from agents.record.models.agents import Agent
from agents.record.models.choices import Source


def _agent(node: TermNode, sight: Sight) -> Q:
    """By name or id; names are few and compared in Python."""
    if node.op == "has":
        return EVERYTHING
    rows = Agent.objects.unscoped("names only; the agents are visible").values_list("pk", "name", "model")
    found = [key for key, name, model in rows if fits(node.value, name or model)]
    same = Q(pk__in=[*found, *keys_named(ids.Kind.AGENT, node.value)])
    return ~same if node.op == "!=" else same


TERMS: Terms = {
    "id": named(ids.Kind.AGENT),
    "agent": _agent,
    "source": plain(chosen("source", Source)),
    "started": plain(moment("created_at")),
}
