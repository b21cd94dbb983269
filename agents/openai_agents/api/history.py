"""What has happened in a session: its items, turns and traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.cursors import cursor
from agents.base.api.lists import encode, list_json
from agents.base.api.negotiation import json_response
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import portions
from agents.openai_agents.api.base import OpenAIView, Undescribed, bounds, empty_list
from agents.openai_agents.api.sessions import PAGE
from agents.openai_agents.extensions import extensions
from agents.openai_agents.runner import items
from agents.openai_agents.runner.sessions import turn_head
from agents.openai_agents.schemas.objects import (
    AgentTurnObject,
    AgentTurnPage,
    NothingPage,
    SessionItemPage,
    TracePage,
)
from agents.openai_agents.store import sessions
from agents.openai_agents.store.sessions import StoredTurn
from agents.openai_agents.wire.sessions import session_id as spelled_session
from agents.openai_agents.wire.sessions import turn_id as spelled_turn
from agents.openai_agents.wire.sessions import turn_json

JSON = dict[str, Any]


class AgentTurns(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_agent_turns", parameters=PAGE, responses=AgentTurnPage)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        found, more = sessions.turn_page(self.actor, row.key, bounds(request, ids.Kind.TURN))
        bodies = ((encode(turn_json(turn_head(row, turn))),) for turn in found)
        return list_json(bodies, [spelled_turn(turn.key) for turn in found], has_more=more)


class AgentTurn(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_agent_turn", responses=AgentTurnObject)
    def get(self, request: Request, session_id: str, turn_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        return json_response(encode(turn_json(turn_head(row, sessions.turn(self.actor, row.key, turn_id)))))


def item_page(request: Request, walk: Iterator[JSON], after: str) -> HttpResponseBase:
    """Answer with a page of items. Raises InvalidRequest where the cursor is none of them."""
    asked = cursor(request._request)
    if after:
        for item in walk:
            if item["id"] == after:
                break
        else:
            raise InvalidRequest(f"after: not the id of an item here: '{after[:80]}'.", param="after")
    sized = (((item["id"], body), len(body)) for item in walk for body in (encode(item),))
    page, more = portions.page(sized, asked.limit)
    bodies = [body for body, _ in page]
    return list_json(((body,) for _, body in bodies), [name for name, _ in bodies], has_more=more)


class AgentSessionItems(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_agent_session_items", parameters=PAGE, responses=SessionItemPage)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        asked = cursor(request._request)
        walk = items.of_session(self.actor, row, asked.after, newest_first=asked.newest_first)
        return item_page(request, walk, asked.after)


class AgentTurnItems(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_agent_turn_items", parameters=PAGE, responses=SessionItemPage)
    def get(self, request: Request, session_id: str, turn_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        turn = sessions.turn(self.actor, row.key, turn_id)
        asked = cursor(request._request)
        walk = items.of_turn(self.actor, turn.key, newest_first=asked.newest_first)
        return item_page(request, walk, asked.after)


class AgentTraces(OpenAIView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_agent_traces", parameters=PAGE, responses=TracePage)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        row = sessions.get(self.actor, session_id)
        found, more = sessions.turn_page(self.actor, row.key, bounds(request, ids.Kind.TURN))
        bodies = (self._trace(turn) for turn in found)
        return list_json(bodies, [spelled_turn(turn.key) for turn in found], has_more=more)

    def _trace(self, turn: StoredTurn) -> Iterator[bytes]:
        head = {
            "id": spelled_turn(turn.key),
            "object": "agent.session.trace",
            "created_at": turn.started_at // 1_000_000,
            "session_id": spelled_session(turn.session),
        }
        yield encode(head)[:-1] + b',"otlp":'
        yield extensions.trace(self.actor, turn.key)
        yield b"}"


class Artifacts(OpenAIView):
    """The files that turns of a session have published: none, as they have no machine."""

    actions = {"get": "read"}

    @extend_schema(operation_id="list_artifacts", parameters=PAGE, responses=NothingPage)
    def get(self, request: Request, session_id: str) -> HttpResponseBase:
        sessions.get(self.actor, session_id)
        cursor(request._request)
        return empty_list()


class Artifact(Undescribed):
    actions = {"get": "read", "delete": "run"}

    def get(self, request: Request, session_id: str, rest: str) -> HttpResponseBase:
        sessions.get(self.actor, session_id)
        raise NotFound("Artifact not found: this session has none.")

    def delete(self, request: Request, session_id: str, rest: str) -> HttpResponseBase:
        sessions.get(self.actor, session_id, "run")
        raise NotFound("Artifact not found: this session has none.")
