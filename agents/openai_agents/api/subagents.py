"""The sub-agents of a session, with their items and turns."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.cursors import cursor
from agents.base.api.lists import encode, list_json
from agents.base.api.negotiation import json_response
from agents.base.errors import NotFound
from agents.base.store.keyset import Bounds
from agents.openai_agents.api.base import OpenAIView, bounds
from agents.openai_agents.api.history import item_page
from agents.openai_agents.api.sessions import PAGE
from agents.openai_agents.runner import items
from agents.openai_agents.runner.sessions import turn_head
from agents.openai_agents.runner.subagents import object_of
from agents.openai_agents.schemas.objects import (
    AgentTurnObject,
    AgentTurnPage,
    SessionItemPage,
    SubagentObject,
    SubagentPage,
)
from agents.openai_agents.store import sessions, subagents
from agents.openai_agents.store.sessions import StoredSession, StoredTurn
from agents.openai_agents.store.subagents import StoredSubagent
from agents.openai_agents.wire.sessions import session_id as spelled_session
from agents.openai_agents.wire.sessions import subagent_id, turn_json
from agents.openai_agents.wire.sessions import turn_id as spelled_turn

JSON = dict[str, Any]


def _page_of(request: Request) -> Bounds:
    """Return the page of sub-agents that a request asks for. Raises NotFound for an unknown cursor, InvalidRequest."""
    page = cursor(request._request)
    after = ids.parse_part(ids.Kind.TURN, page.after) if page.after else None
    if page.after and after is None:
        raise NotFound(f"after: nothing has the id '{page.after[:80]}'.", param="after")
    return Bounds(after, None, page.limit, page.newest_first)


class Subagents(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_subagents", parameters=PAGE, responses=SubagentPage)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        page, more = subagents.page(self.actor, row.key, _page_of(request))
        bodies = ((encode(object_of(row, subagent)),) for subagent in page)
        return list_json(bodies, [subagent_id(subagent.turn) for subagent in page], has_more=more)


class _OfSubagent(OpenAIView):
    """Something of one sub-agent. Raises NotFound where the session has none of this id."""

    def subagent(self, session_id: str, subagent_id: str) -> tuple[StoredSession, StoredSubagent]:
        row = sessions.get(self.actor, session_id)
        return row, subagents.get(self.actor, row.key, subagent_id)

    def own_session(self, session_id: str, subagent_id: str) -> StoredSession:
        """Return the session in which a sub-agent works."""
        _, subagent = self.subagent(session_id, subagent_id)
        own = sessions.of_key(self.actor, subagent.session)
        if own is None:
            raise NotFound(f"Subagent '{subagent_id[:80]}' not found.")
        return own


class Subagent(_OfSubagent):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_subagent", responses=SubagentObject)
    def get(self, request: Request, session_id: str, subagent_id: str) -> HttpResponseBase:
        return json_response(encode(object_of(*self.subagent(session_id, subagent_id))))


class SubagentItems(_OfSubagent):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_subagent_items", parameters=PAGE, responses=SessionItemPage)
    def get(self, request: Request, session_id: str, subagent_id: str) -> HttpResponseBase:
        own, page = self.own_session(session_id, subagent_id), cursor(request._request)
        walk = items.of_session(self.actor, own, page.after, newest_first=page.newest_first)
        return item_page(request, walk, page.after)


class SubagentTurns(_OfSubagent):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_subagent_turns", parameters=PAGE, responses=AgentTurnPage)
    def get(self, request: Request, session_id: str, subagent_id: str) -> HttpResponseBase:
        row, subagent = self.subagent(session_id, subagent_id)
        page, more = sessions.turn_page(self.actor, subagent.session, bounds(request, ids.Kind.TURN))
        bodies = ((encode(_turn_json(row, subagent, turn)),) for turn in page)
        return list_json(bodies, [spelled_turn(turn.key) for turn in page], has_more=more)


class SubagentTurn(_OfSubagent):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_subagent_turn", responses=AgentTurnObject)
    def get(self, request: Request, session_id: str, subagent_id: str, turn_id: str) -> HttpResponseBase:
        row, subagent = self.subagent(session_id, subagent_id)
        turn = sessions.turn(self.actor, subagent.session, turn_id)
        return json_response(encode(_turn_json(row, subagent, turn)))


class SubagentTurnItems(_OfSubagent):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_subagent_turn_items", parameters=PAGE, responses=SessionItemPage)
    def get(self, request: Request, session_id: str, subagent_id: str, turn_id: str) -> HttpResponseBase:
        own, page = self.own_session(session_id, subagent_id), cursor(request._request)
        turn = sessions.turn(self.actor, own.key, turn_id)
        walk = items.of_turn(self.actor, turn.key, newest_first=page.newest_first)
        return item_page(request, walk, page.after)


def _turn_json(row: StoredSession, subagent: StoredSubagent, turn: StoredTurn) -> JSON:
    """Encode a turn of a sub-agent as one of the session that the sub-agent is of."""
    head = turn_json(turn_head(row, turn))
    return {**head, "session_id": spelled_session(row.key), "subagent_id": subagent_id(subagent.turn)}
