"""The page of a session: what was said overall, turn after turn, and a word more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from agents import ids
from agents.access import Actor
from agents.errors import NotFound
from agents.query.parser import parse
from agents.schemas.logs import TurnRow
from agents.store import agents, changes, conversations, logs, sessions, threads, values
from agents.store.agents import AgentRecord
from agents.store.logs import TurnPage
from agents.store.sessions import SessionRecord
from agents.ui import acting, fragments
from agents.ui.access import PageRequest, page
from agents.ui.replies import turn_reply

PAGE = 30
"""Turns on one page of a session."""


@page("read")
def session_page(request: PageRequest, session_id: str) -> HttpResponse:
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = changes.latest()
    session = sessions.get(request.actor, sessions.key_of(session_id))
    agent = agent_of(request.actor, session.agent)
    found = _turns(request, session)
    can_run = "run" in request.actor.actions
    context = {
        "session": session,
        "conversation_id": ids.openai(ids.Kind.SESSION, session.key),
        "agent": agent,
        "title": session.name or session.public_id,
        "cursor": cursor,
        "can_run": can_run and (_can_go_on(session, found) if agent is None else not agent.disabled),
        "may_run": can_run,
        "thread": _thread(request.actor, session, found),
        "side": _side(request.actor, session, found.rows),
        **_paging(found),
    }
    return render(request, "agents/session_detail.html", context)


@page("read")
def session_parts(request: PageRequest, session_id: str) -> HttpResponse:
    """What changes on the page while its turns run."""
    session = sessions.get(request.actor, sessions.key_of(session_id))
    found = _turns(request, session)
    thread = f'<div class="reader" data-part="thread">{"".join(_thread(request.actor, session, found))}</div>'
    return HttpResponse([thread, _side(request.actor, session, found.rows)])


@page("run")
@require_POST
def say(request: PageRequest, session_id: str) -> HttpResponse:
    """Continue the conversation; leads to the new turn."""
    turn_id = acting.say(request.actor, sessions.key_of(session_id), request.POST.get("text", ""))
    return turn_reply(request, turn_id)


def agent_of(actor: Actor, key: int | None) -> AgentRecord | None:
    """A session's agent; none where it has none, or the actor may not see it."""
    try:
        return agents.get(actor, key) if key is not None else None
    except NotFound:
        return None


def _turns(request: PageRequest, session: SessionRecord) -> TurnPage:
    query = parse(f"session:{session.public_id}", now_us=ids.now_us())
    after, before = (_key(request.GET.get(name)) for name in ("after", "before"))
    return logs.turns_page(request.actor, query, after=after, before=before, limit=PAGE)


def _key(public_id: str | None) -> int | None:
    if public_id is None:
        return None
    key = logs.key_of(public_id)
    if key is None:
        raise NotFound(f"There is no turn '{public_id[:80]}' to page from.")
    return key


def _can_go_on(session: SessionRecord, found: TurnPage) -> bool:
    """Whether a session without an agent can be continued: by its last response, unless that waits for
    its client."""
    last = next((row for row in found.rows if row.id == session.last_turn), None)
    return session.agent is None and last is not None and last.status != "awaiting_input" and last.api == "responses"


def _side(actor: Actor, session: SessionRecord, rows: Sequence[TurnRow]) -> str:
    metadata = conversations.of_key(actor, session.key).metadata
    return fragments.session_side(session, rows, metadata)


def _thread(actor: Actor, session: SessionRecord, found: TurnPage) -> list[str]:
    """The turns of a page, oldest first, with the items that are no turn's where they were put in."""
    keys = [row.id for row in found.rows]
    turns = {turn.key: turn for turn in values.turns_of_session(actor, session.key, keys)}
    places = threads.places(session.key, keys)
    rows = [row for row in reversed(found.rows) if row.id in turns and row.id in places]
    shown = [
        (places[row.id].first_item, 1, fragments.session_turn(turns[row.id], row, places[row.id].branches_from))
        for row in rows
    ]
    first = shown[0][0] if shown and found.has_older else 0
    last = threads.next_item(session.key, places[rows[-1].id].number) if rows and found.has_newer else None
    name = ids.openai(ids.Kind.SESSION, session.key)
    loose = [
        (item.number, 0, html)
        for item in threads.loose_items(session.key)
        if item.number >= first and (last is None or item.number < last)
        for html in fragments.loose_items(name, item.value)
    ]
    return [html for *_, html in sorted([*shown, *loose], key=lambda each: each[:2])]


def _paging(found: TurnPage) -> dict[str, Any]:
    if not found.rows:
        return {"earlier": "", "later": ""}
    newest, oldest = (ids.public(ids.Kind.TURN, row.id) for row in (found.rows[0], found.rows[-1]))
    return {
        "earlier": f"?after={oldest}" if found.has_older else "",
        "later": f"?before={newest}" if found.has_newer else "",
    }
