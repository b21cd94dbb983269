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
from agents.store import agents, changes, logs, sessions, values
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
    context = {
        "session": session,
        "agent": agent,
        "title": session.name or session.public_id,
        "cursor": cursor,
        "can_run": "run" in request.actor.actions and agent is not None and not agent.disabled,
        "thread": _thread(request.actor, session, found.rows),
        "side": fragments.session_side(session, found.rows),
        **_paging(found),
    }
    return render(request, "agents/session_detail.html", context)


@page("read")
def session_parts(request: PageRequest, session_id: str) -> HttpResponse:
    """What changes on the page while its turns run."""
    session = sessions.get(request.actor, sessions.key_of(session_id))
    rows = _turns(request, session).rows
    thread = f'<div class="reader" data-part="thread">{"".join(_thread(request.actor, session, rows))}</div>'
    return HttpResponse([thread, fragments.session_side(session, rows)])


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


def _thread(actor: Actor, session: SessionRecord, rows: Sequence[TurnRow]) -> list[str]:
    """The turns of these rows, oldest first."""
    found = {turn.key: turn for turn in values.turns_of_session(actor, session.key, [row.id for row in rows])}
    return [fragments.session_turn(found[row.id], row) for row in reversed(rows) if row.id in found]


def _paging(found: TurnPage) -> dict[str, Any]:
    if not found.rows:
        return {"earlier": "", "later": ""}
    newest, oldest = (ids.public(ids.Kind.TURN, row.id) for row in (found.rows[0], found.rows[-1]))
    return {
        "earlier": f"?after={oldest}" if found.has_older else "",
        "later": f"?before={newest}" if found.has_newer else "",
    }
