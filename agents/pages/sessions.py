"""The page of a session: its turns in order, a search, and a form to continue it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.store import feed_cursor as places
from agents.logs.pages import row_snippets
from agents.logs.pages.lists import LOGS
from agents.logs.pages.row_snippets import RowSnippet
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, turn_log
from agents.logs.store.turn_log import TurnRowPage
from agents.pages import called_turns, fragments, session_metrics, turn_actions, turn_search
from agents.query.parser import parse
from agents.query.tree import FreeText, Node, Query, SearchPhrase, all_of, any_of, conjuncts
from agents.query.writer import tree_text
from agents.record.models.choices import Api
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import agents, read_turns, session_order, sessions
from agents.record.store.agents import AgentRecord
from agents.record.store.sessions import SessionRecord
from agents.responses.store import conversations
from agents.uikit.access import PageRequest, page
from agents.uikit.highlight import Phrase, phrase_of
from agents.uikit.http_responses import turn_reply
from agents.uikit.links import at

PAGE_SIZE = 30
"""Turns on one page of a session."""
PANEL_TURNS = 10
"""Turns in the side panel of a list."""
MAX_HITS = 1000
"""Matching turns are counted up to this number."""


@page("read")
def session_page(request: PageRequest, session_id: str) -> HttpResponse:
    # read first: a change while the page is built is then sent again rather than missed
    cursor = places.newest(request.actor)
    session = sessions.get(request.actor, sessions.key_of(session_id))
    agent = agent_of(request.actor, session.agent)
    search = _search(request, session)
    turn_page = _turns(request, session, search)
    can_run = "run" in request.actor.actions and not session.is_external
    context = {
        "session": session,
        "conversation_id": ids.openai(ids.Kind.SESSION, session.key),
        "agent": agent,
        "title": session.name or session.public_id,
        "cursor": cursor,
        "can_run": can_run and (_can_continue(session, turn_page) if agent is None else not agent.disabled),
        "may_run": can_run,
        "caller": called_turns.caller_of_session(request.actor, session.key),
        "metrics": session_metrics.metrics(request.actor, session),
        "search_text": request.GET.get("find", ""),
        "search": search,
        "hits": _hits(request.actor, session, search),
        "thread": _thread(request.actor, session, turn_page, search),
        "side": _side(request.actor, session, turn_page.rows),
        "judge_url": at(f"/sessions/{session.public_id}/judged/"),
        **_paging(turn_page, search),
    }
    return render(request, "pages/session.html", context)


@page("read")
def session_parts(request: PageRequest, session_id: str) -> HttpResponse:
    """The parts of the page that change while its turns run."""
    session = sessions.get(request.actor, sessions.key_of(session_id))
    search = _search(request, session)
    turn_page = _turns(request, session, search)
    thread = (
        f'<div class="reader" data-part="thread">{"".join(_thread(request.actor, session, turn_page, search))}</div>'
    )
    metrics = session_metrics.metrics(request.actor, session)
    return HttpResponse([metrics, thread, _side(request.actor, session, turn_page.rows)])


@page("read")
def session_side_panel(request: PageRequest, session_id: str) -> HttpResponse:
    """The side panel of a list of sessions: the last turns, of a search the last that have it."""
    session = sessions.get(request.actor, sessions.key_of(session_id))
    search = _search(request, session)
    turn_page = turn_log.turns_page(request.actor, _turns_query(session, search), limit=PANEL_TURNS)
    if search is not None and not turn_page.rows:
        turn_page = turn_log.turns_page(request.actor, _turns_query(session, None), limit=PANEL_TURNS)
    context = {
        "session": session,
        "agent": agent_of(request.actor, session.agent),
        "title": session.name or session.public_id,
        "url": at(f"/sessions/{session.public_id}/{f'?{search.query}' if search else ''}"),
        "turn_count": session.turn_count,
        "started_at": session.created_at,
        "thread": _thread(request.actor, session, turn_page, search),
        "earlier": turn_page.has_older,
    }
    return render(request, "pages/_session_side_panel.html", context)


@page("run")
@require_POST
def say(request: PageRequest, session_id: str) -> HttpResponse:
    """Continue the conversation; redirects to the new turn."""
    turn_id = turn_actions.say(request.actor, sessions.key_of(session_id), request.POST.get("text", ""))
    return turn_reply(request, turn_id)


def agent_of(actor: Actor, key: int | None) -> AgentRecord | None:
    """A session's agent; None if it has none, or the actor may not see it."""
    try:
        return agents.get(actor, key) if key is not None else None
    except NotFound:
        return None


@dataclass(frozen=True, slots=True)
class SessionSearch:
    """A search in a session: the text as typed, and its phrases. ``has_parts``: no turn has all of them, so those that
    have some are shown."""

    text: str
    terms: tuple[SearchPhrase, ...]
    has_parts: bool = False

    @property
    def phrases(self) -> tuple[Phrase, ...]:
        return tuple(map(phrase_of, self.terms))

    @property
    def query(self) -> str:
        return urlencode({"find": self.text})


def _search(request: PageRequest, session: SessionRecord) -> SessionSearch | None:
    text = " ".join(request.GET.get("find", "")[: turn_search.MAX_SEARCH_CHARS].split())
    terms = turn_search.parse_phrases(text)
    if not terms:
        return None
    search = SessionSearch(text, tuple(terms))
    if len(terms) == 1 or listing.newest(request.actor, _turns_query(session, search), 1):
        return search
    return replace(search, has_parts=True)


def _turns_query(session: SessionRecord, search: SessionSearch | None) -> Query:
    """The query for a session's turns, limited to those that match a search."""
    query = parse(f"session:{session.public_id}", now_us=ids.now_us())
    conditions: list[Node] = [FreeText(words=term) for term in search.terms] if search else []
    if search and search.has_parts:
        conditions = [any_of(conditions)]
    tree = all_of((*conjuncts(query.tree), *conditions))
    return Query(text=tree_text(tree), tree=tree, level="turn")


def _hits(actor: Actor, session: SessionRecord, search: SessionSearch | None) -> tuple[int, str] | None:
    """(number of matching turns, URL of their list); None without a search."""
    if search is None:
        return None
    query = _turns_query(session, search)
    return len(listing.newest(actor, query, MAX_HITS)), LOGS.link(query.text)


def _turns(request: PageRequest, session: SessionRecord, search: SessionSearch | None) -> TurnRowPage:
    query = _turns_query(session, search)
    after, before = (_key(request.GET.get(name)) for name in ("after", "before"))
    return turn_log.turns_page(request.actor, query, after=after, before=before, limit=PAGE_SIZE)


def _key(public_id: str | None) -> int | None:
    if public_id is None:
        return None
    key = turn_log.key_of(public_id)
    if key is None:
        raise NotFound(f"There is no turn '{public_id[:80]}' to page from.")
    return key


def _can_continue(session: SessionRecord, turn_page: TurnRowPage) -> bool:
    """Whether a session without an agent can be continued: its last turn has a response that does not wait for
    the client."""
    last = next((row for row in turn_page.rows if row.id == session.last_turn), None)
    return session.agent is None and last is not None and last.status != "awaiting_input" and last.api == "responses"


def _side(actor: Actor, session: SessionRecord, rows: Sequence[TurnRow]) -> str:
    is_conversation = session.api != Api.UNSTORED  # not what its client asked not to store
    conversation = conversations.of_key(actor, session.key) if is_conversation else None
    return fragments.session_side(actor, session, rows, conversation)


def _thread(actor: Actor, session: SessionRecord, turn_page: TurnRowPage, search: SessionSearch | None) -> list[str]:
    """The turns of a page as HTML, oldest first: with the matches of a search marked, or without a search with the
    items that belong to no turn."""
    keys = [row.id for row in turn_page.rows]
    row_of, positions = {row.id: row for row in turn_page.rows}, session_order.positions(session.key, keys)
    sized = read_turns.sizes_of_session(actor, session.key, keys)
    # large values of steps are not shown here, and only a few turns are in memory at a time
    turns = (
        partial.turn for partial in read_turns.partial_turns(actor, session.key, sized) if partial.turn.key in positions
    )
    if search is not None:
        snippets = row_snippets.of_rows("turn", turn_page.rows, _turns_query(session, search))
        return [_found_turn(turn, row_of[turn.key], search, snippets.get(turn.key)) for turn in turns]
    turn_entries = [
        (position.first_item, 1, fragments.session_turn(turn, row_of[turn.key], position.branches_from))
        for turn in turns
        for position in (positions[turn.key],)
    ]
    rows = [row for row in reversed(turn_page.rows) if row.id in positions]
    first = turn_entries[0][0] if turn_entries and turn_page.has_older else 0
    last = session_order.next_item(session.key, positions[rows[-1].id].number) if rows and turn_page.has_newer else None
    name = ids.openai(ids.Kind.SESSION, session.key)
    item_entries = [
        (item.number, 0, html)
        for item in session_order.loose_items(session.key)
        if item.number >= first and (last is None or item.number < last)
        for html in fragments.loose_items(name, item.value)
    ]
    return [html for *_, html in sorted([*turn_entries, *item_entries], key=lambda entry: entry[:2])]


def _found_turn(turn: TurnSnapshot, row: TurnRow, search: SessionSearch, snippet: RowSnippet | None) -> str:
    """Render a turn that has been found, with a line of the text that has the words where it is in the steps."""
    query_string = f"?{search.query}"
    html = turn_search.mark_matches(fragments.session_turn(turn, row, query_string=query_string), search.phrases)
    if snippet is None or "<mark>" in html:
        return html
    return fragments.session_turn(turn, row, query_string=query_string, snippet=snippet)


def _paging(turn_page: TurnRowPage, search: SessionSearch | None) -> dict[str, Any]:
    if not turn_page.rows:
        return {"earlier": "", "later": ""}
    newest, oldest = (ids.public(ids.Kind.TURN, row.id) for row in (turn_page.rows[0], turn_page.rows[-1]))
    search_suffix = f"&{search.query}" if search else ""
    return {
        "earlier": f"?after={oldest}{search_suffix}" if turn_page.has_older else "",
        "later": f"?before={newest}{search_suffix}" if turn_page.has_newer else "",
    }
