"""Finds the agent that a caller means by its id or its name."""

from __future__ import annotations

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.record.store import agents
from agents.record.store.agents import AgentRecord


def find(actor: Actor, name: str, param: str = "agent") -> AgentRecord:
    """Return the agent with this id, or the only one of this name that takes turns of the actor. Raises NotFound, also
    for one the actor may not run; InvalidRequest for a name of several, with their ids."""
    key = ids.parse(ids.Kind.AGENT, name)
    if key is not None:
        return agents.get(actor, key, "run")
    found_ids = agents.runnable_by_name(actor, name) if name else []
    if not found_ids:
        raise NotFound(f"Agent '{name[:80]}' not found.", param=param, code="agent_not_found")
    if len(found_ids) > 1:
        message = f"{param}: {len(found_ids)} agents are called '{name[:80]}'; say which by its id: "
        raise InvalidRequest(message + f"{', '.join(found_ids)}.", param=param, code="agent_ambiguous")
    return agents.get(actor, agents.key_of(found_ids[0]), "run")
