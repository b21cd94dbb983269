"""Saved agents. Their routes are those of Llama Stack's agents too: who serves them decides by the request which of
the two is asked (`agents.server.api.agents`)."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase

from agents.base.api.lists import encode, list_json
from agents.base.api.negotiation import json_response
from agents.base.api.views import ApiView
from agents.base.ids import Kind
from agents.openai_agents.api.base import bounds, parsed
from agents.openai_agents.runner.configs import config_of
from agents.openai_agents.runner.sessions import saved_agent
from agents.openai_agents.schemas.agents import CreateSavedAgent, UpdateSavedAgent
from agents.openai_agents.wire.agents import agent_id, saved_agent_json
from agents.record.store import agents
from agents.record.store.agents import AgentRecord


def _object(record: AgentRecord) -> dict[str, Any]:
    return saved_agent_json(record.key, record.config, record.created_at, record.updated_at)


def create(view: ApiView) -> HttpResponseBase:
    config = config_of(view.actor, parsed(view, CreateSavedAgent), None, "")
    key = agents.create(view.actor, config)
    return json_response(encode(_object(agents.get(view.actor, key, "manage"))), 200)


def listing(view: ApiView) -> HttpResponseBase:
    records, more = agents.page_from(view.actor, bounds(view.request, Kind.AGENT))
    bodies = ((encode(_object(record)),) for record in records)
    return list_json(bodies, [agent_id(record.key) for record in records], has_more=more)


def retrieve(view: ApiView, public_id: str) -> HttpResponseBase:
    return json_response(encode(_object(saved_agent(view.actor, public_id))))


def update(view: ApiView, public_id: str) -> HttpResponseBase:
    record = saved_agent(view.actor, public_id, "manage")
    agents.check_here(record)
    config = config_of(view.actor, parsed(view, UpdateSavedAgent), record.config, "")
    agents.revise(view.actor, record.key, config)
    return json_response(encode(_object(agents.get(view.actor, record.key, "manage"))))


def delete(view: ApiView, public_id: str) -> HttpResponseBase:
    """Delete a saved agent. Sessions that have it go on with what they know of it."""
    record = saved_agent(view.actor, public_id, "manage")
    agents.retire(view.actor, record.key)
    return json_response(encode({"id": agent_id(record.key), "object": "agent.deleted", "deleted": True}))
