"""The page of a session: what was said overall, turn after turn, and a word more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.store import feed_cursor as places
from agents.base.tokenizer import tokens
from agents.logs.pages.lists import LOGS
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, turn_log
from agents.logs.store.turn_log import TurnRowPage
from agents.pages import fragments, session_metrics, turn_actions, turn_search
from agents.query.parser import parse
from agents.query.tree import FreeText, Query, SearchPhrase, all_of, conjuncts
from agents.query.writer import tree_text
from agents.record.store import agents, read_turns, session_order, sessions
from agents.record.store.agents import AgentRecord
from agents.record.store.sessions import SessionRecord
from agents.responses.store import conversations
from agents.uikit.access import PageRequest, page
from agents.uikit.highlight import Phrase
from agents.uikit.http_responses import turn_reply

PAGE = 30
"""Turns on one page of a session."""
MOST_HITS = 1000
"""Turns that are counted when something is searched for."""


@page("read")
def session_page(request: PageRequest, session_id: str) -> HttpResponse:
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = places.newest(request.actor)
    session = sessions.get(request.actor, sessions.key_of(session_id))
    agent = agent_of(request.actor, session.agent)
    search = _search(request)
    found = _turns(request, session, search)
    can_run = "run" in request.actor.actions and not session.is_external
    context = {
        "session": session,
        "conversation_id": ids.openai(ids.Kind.SESSION, session.key),
        "agent": agent,
        "title": session.name or session.public_id,
        "cursor": cursor,
        "can_run": can_run and (_can_go_on(session, found) if agent is None else not agent.disabled),
        "may_run": can_run,
        "metrics": session_metrics.metrics(request.actor, session),
        "asked_find": request.GET.get("find", ""),
        "search": search,
        "hits": _hits(request.actor, session, search),
        "thread": _thread(request.actor, session, found, search),
        "side": _side(request.actor, session, found.rows),
        "judge_url": f"/sessions/{session.public_id}/judged/",
        **_paging(found, search),
    }
    return render(request, "pages/session.html", context)


@page("read")
def session_parts(request: PageRequest, session_id: str) -> HttpResponse:
    """What changes on the page while its turns run."""
    session = sessions.get(request.actor, sessions.key_of(session_id))
    search = _search(request)
    found = _turns(request, session, search)
    thread = f'<div class="reader" data-part="thread">{"".join(_thread(request.actor, session, found, search))}</div>'
    metrics = session_metrics.metrics(request.actor, session)
    return HttpResponse([metrics, thread, _side(request.actor, session, found.rows)])


@page("run")
@require_POST
def say(request: PageRequest, session_id: str) -> HttpResponse:
    """Continue the conversation; leads to the new turn."""
    turn_id = turn_actions.say(request.actor, sessions.key_of(session_id), request.POST.get("text", ""))
    return turn_reply(request, turn_id)


def agent_of(actor: Actor, key: int | None) -> AgentRecord | None:
    """A session's agent; none where it has none, or the actor may not see it."""
    try:
        return agents.get(actor, key) if key is not None else None
    except NotFound:
        return None


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for in a session: words as typed, and as phrases to be found and marked."""

    text: str
    wanted: tuple[SearchPhrase, ...]

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        return tuple(Phrase(tuple(tokens(each.text)), each.prefix) for each in self.wanted)

    @property
    def query(self) -> str:
        return urlencode({"find": self.text})


def _search(request: PageRequest) -> Search | None:
    text = " ".join(request.GET.get("find", "")[: turn_search.LONGEST].split())
    wanted = turn_search.asked(text)
    return Search(text, tuple(wanted)) if wanted else None


def _asked(session: SessionRecord, search: Search | None) -> Query:
    """The turns of a session, those that say what is searched for if anything is."""
    query = parse(f"session:{session.public_id}", now_us=ids.now_us())
    said = [FreeText(words=each) for each in search.wanted] if search else []
    tree = all_of((*conjuncts(query.tree), *said))
    return Query(text=tree_text(tree), tree=tree, level="turn")


def _hits(actor: Actor, session: SessionRecord, search: Search | None) -> tuple[int, str] | None:
    """How many turns say what is searched for, and the list of them; None where nothing is."""
    if search is None:
        return None
    query = _asked(session, search)
    return len(listing.newest(actor, query, MOST_HITS)), LOGS.link(query.text)


def _turns(request: PageRequest, session: SessionRecord, search: Search | None) -> TurnRowPage:
    query = _asked(session, search)
    after, before = (_key(request.GET.get(name)) for name in ("after", "before"))
    return turn_log.turns_page(request.actor, query, after=after, before=before, limit=PAGE)


def _key(public_id: str | None) -> int | None:
    if public_id is None:
        return None
    key = turn_log.key_of(public_id)
    if key is None:
        raise NotFound(f"There is no turn '{public_id[:80]}' to page from.")
    return key


def _can_go_on(session: SessionRecord, found: TurnRowPage) -> bool:
    """Whether a session without an agent can be continued: by its last response, unless that waits for
    its client."""
    last = next((row for row in found.rows if row.id == session.last_turn), None)
    return session.agent is None and last is not None and last.status != "awaiting_input" and last.api == "responses"


def _side(actor: Actor, session: SessionRecord, rows: Sequence[TurnRow]) -> str:
    metadata = conversations.of_key(actor, session.key).metadata
    return fragments.session_side(actor, session, rows, metadata)


def _thread(actor: Actor, session: SessionRecord, found: TurnRowPage, search: Search | None) -> list[str]:
    """The turns of a page, oldest first: with the items that are no turn's where they were put in, or with
    what is searched for marked."""
    keys = [row.id for row in found.rows]
    row_of, places = {row.id: row for row in found.rows}, session_order.positions(session.key, keys)
    sized = read_turns.sizes_of_session(actor, session.key, keys)
    # what is large of a step is not shown here, and of the turns few are in memory at a time
    turns = (each.turn for each in read_turns.partial_turns(actor, session.key, sized) if each.turn.key in places)
    if search is not None:
        said = (fragments.session_turn(turn, row_of[turn.key], kept=f"?{search.query}") for turn in turns)
        return [turn_search.marked(html, search.phrases) for html in said]
    shown = [
        (place.first_item, 1, fragments.session_turn(turn, row_of[turn.key], place.branches_from))
        for turn in turns
        for place in (places[turn.key],)
    ]
    rows = [row for row in reversed(found.rows) if row.id in places]
    first = shown[0][0] if shown and found.has_older else 0
    last = session_order.next_item(session.key, places[rows[-1].id].number) if rows and found.has_newer else None
    name = ids.openai(ids.Kind.SESSION, session.key)
    loose = [
        (item.number, 0, html)
        for item in session_order.loose_items(session.key)
        if item.number >= first and (last is None or item.number < last)
        for html in fragments.loose_items(name, item.value)
    ]
    return [html for *_, html in sorted([*shown, *loose], key=lambda each: each[:2])]


def _paging(found: TurnRowPage, search: Search | None) -> dict[str, Any]:
    if not found.rows:
        return {"earlier": "", "later": ""}
    newest, oldest = (ids.public(ids.Kind.TURN, row.id) for row in (found.rows[0], found.rows[-1]))
    kept = f"&{search.query}" if search else ""
    return {
        "earlier": f"?after={oldest}{kept}" if found.has_older else "",
        "later": f"?before={newest}{kept}" if found.has_newer else "",
    }
