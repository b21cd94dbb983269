"""The list of conversations, and the ways from ids of OpenAI's API to the pages of what they name."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string

from agents import ids
from agents.errors import NotFound
from agents.query.parser import parse
from agents.store import conversation_log, conversations, responses, threads
from agents.ui import fragments, legs
from agents.ui.access import PageRequest, page
from agents.ui.lists import CONVERSATIONS
from agents.ui.logs import PAGE, Asked, listed, live, paging
from agents.ui.replies import plain
from agents.wire import items


@page("read")
def conversation_list(request: PageRequest) -> HttpResponse:
    return listed(request, CONVERSATIONS, _rows)


@page("read")
def conversation_parts(request: PageRequest) -> HttpResponse:
    """The rows of the newest page by themselves, for a page whose list has changed."""
    query = parse(request.GET.get("q", "").strip(), now_us=ids.now_us())
    found = conversation_log.page(request.actor, query, limit=PAGE)
    rows = [fragments.conversation_row(row) for row in found.rows]
    return HttpResponse(render_to_string("agents/_conversation_rows.html", {"rows": rows}))


def _rows(request: PageRequest, asked: Asked, cursor: int) -> dict[str, Any] | None:
    after, before = (_key(request, name) for name in ("after", "before"))
    found = conversation_log.page(request.actor, asked.query, after=after, before=before, limit=PAGE)
    if before is not None and not found.has_newer:
        return None
    keys = [row.key for row in found.rows]
    return {
        "rows": [fragments.conversation_row(row, asked.query) for row in found.rows],
        **paging(asked, ids.Kind.SESSION, keys, newer=found.has_newer, older=found.has_older),
        **live(asked, cursor, newest=None, at_top=not found.has_newer),
    }


def _key(request: PageRequest, name: str) -> int | None:
    public_id = request.GET.get(name)
    if public_id is None:
        return None
    key = ids.parse(ids.Kind.SESSION, public_id)
    if key is None:
        raise NotFound(f"There is no conversation '{public_id[:80]}' to page from.")
    return key


@page("read")
def to_response(request: PageRequest, response_id: str) -> HttpResponse:
    """Leads from a response's id to its place on the page of its turn."""
    record = responses.get(request.actor, response_id)
    there = f"#response-{record.number}" if record.number > 1 else ""
    return redirect(f"/turns/{ids.public(ids.Kind.TURN, record.turn)}/{there}")


@page("read")
def to_conversation(request: PageRequest, conversation_id: str) -> HttpResponse:
    """Leads from a conversation's id to the page of its session."""
    record = conversations.get(request.actor, conversation_id)
    return redirect("session", ids.public(ids.Kind.SESSION, record.key))


@page("read")
def response_as_json(request: PageRequest, response_id: str) -> HttpResponse:
    """A response as the Responses API gives it."""
    return plain(legs.as_json(responses.get(request.actor, response_id)), "application/json")


@page("read")
def response_stream(request: PageRequest, response_id: str) -> HttpResponse:
    """The stream of a response once more, to be read: what ``?stream=true`` sends to its caller."""
    return plain(legs.stream(responses.get(request.actor, response_id)))


@page("read")
def item_as_json(request: PageRequest, conversation_id: str, item_id: str) -> HttpResponse:
    """An item that was put into a conversation by hand, as the Conversations API gives it."""
    record = conversations.get(request.actor, conversation_id)
    loose = items.items_json(one.value for one in threads.loose_items(record.key))
    found = next((item for item in loose if item["id"] == item_id), None)
    if found is None:
        raise NotFound(f"Item '{item_id[:80]}' not found.")
    return plain(json.dumps(found), "application/json")
