"""Redirects from ids of OpenAI's API to pages, and the JSON of what they name."""

from __future__ import annotations

import json

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from agents.base import ids
from agents.base.errors import NotFound
from agents.logs.pages.lists import SESSIONS
from agents.pages import turn_responses
from agents.record.store import session_order
from agents.responses.store import conversations, responses
from agents.responses.wire import items
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import plain_response, plain_stream
from agents.uikit.links import at


@page("read")
def conversation_list(request: PageRequest) -> HttpResponse:
    """Redirect to the list of sessions: each conversation is a session."""
    return redirect(SESSIONS.link(request.GET.get("q", "").strip()))


@page("read")
def to_response(request: PageRequest, response_id: str) -> HttpResponse:
    """Redirect from a response's id to its position on the page of its turn."""
    record = responses.get(request.actor, response_id)
    fragment = f"#response-{record.number}" if record.number > 1 else ""
    return redirect(at(f"/turns/{ids.public(ids.Kind.TURN, record.turn)}/{fragment}"))


@page("read")
def to_conversation(request: PageRequest, conversation_id: str) -> HttpResponse:
    """Redirect from a conversation's id to the page of its session."""
    record = conversations.get(request.actor, conversation_id)
    return redirect("session", ids.public(ids.Kind.SESSION, record.key))


@page("read")
def response_as_json(request: PageRequest, response_id: str) -> HttpResponseBase:
    """A response as the Responses API returns it."""
    return plain_stream(turn_responses.as_json(responses.get(request.actor, response_id)), "application/json")


@page("read")
def response_stream(request: PageRequest, response_id: str) -> HttpResponseBase:
    """The stream of a response as text: what ``?stream=true`` sends to a caller."""
    return plain_stream(turn_responses.stream(responses.get(request.actor, response_id)))


@page("read")
def item_as_json(request: PageRequest, conversation_id: str, item_id: str) -> HttpResponse:
    """An item that was added to a conversation directly, as the Conversations API returns it."""
    record = conversations.get(request.actor, conversation_id)
    loose_items = items.items_json(stored.value for stored in session_order.loose_items(record.key))
    match = next((item for item in loose_items if item["id"] == item_id), None)
    if match is None:
        raise NotFound(f"Item '{item_id[:80]}' not found.")
    return plain_response(json.dumps(match), "application/json")
