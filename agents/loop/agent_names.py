"""Finds the agent that a caller means by its id or its name, also where it is named as a model: ``agent/<name>``."""

from __future__ import annotations

from collections import Counter

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop.inference.base import Model
from agents.loop.provider_set import Providers
from agents.record.store import agents
from agents.record.store.agents import AgentRecord

PREFIX = "agent"
"""What the models that are agents begin with, before a slash: as models of an endpoint do with its name. An endpoint
of this name comes first."""


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


def is_agent(providers: Providers, model: str) -> bool:
    """Tell whether the name of a model is that of an agent."""
    return model.startswith(f"{PREFIX}/") and not providers.endpoints.is_qualified(model)


def of_model(providers: Providers, actor: Actor, model: str) -> AgentRecord | None:
    """Return the agent that the name of a model names; None for any other model. Raises NotFound, also for one the
    actor may not run; InvalidRequest for a name of several, and for an agent that takes no turns."""
    if not is_agent(providers, model):
        return None
    try:
        record = find(actor, model.removeprefix(f"{PREFIX}/"), param="model")
    except NotFound as error:
        raise NotFound(f"Model '{model[:200]}' not found.", param="model", code="model_not_found") from error
    agents.check_enabled(record)
    return record


def models(providers: Providers, actor: Actor) -> list[Model]:
    """List the agents as models, by their names; by their ids where they have none, or share it."""
    if PREFIX in providers.endpoints.names:
        return []
    runnable = agents.runnable(actor)
    times = Counter(name for name, _ in runnable)
    return [
        Model(f"{PREFIX}/{name if name and times[name] == 1 else public_id}", PREFIX, public_id)
        for name, public_id in runnable
    ]
