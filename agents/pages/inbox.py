"""The inbox: the calls that wait for a person, the oldest turns first, each with the form of its turn's page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.store import feed_cursor
from agents.logs.pages import turn_summary
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import turn_log
from agents.pages import recovery, speakers, step_cards, turn_responses
from agents.pages.recovery import Recovery
from agents.pages.step_cards import StepCard
from agents.record.store import read_turns, step_pages, waiting
from agents.record.store.recovery import recovery_events
from agents.record.store.waiting import WaitingFilter
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at
from agents.uikit.navigation import waiting_badge

PAGE_SIZE = 20
WAITS = "is:waiting OR is:undecided"
"""The query of the turns of which the page follows the changes."""


@dataclass(frozen=True, slots=True)
class WaitingTurn:
    """A turn of the inbox: its row, the cards of its calls that wait, and since when the first does (microseconds
    since 1970). ``in_doubt``: what waits is a decision."""

    id: str
    url: str
    row: TurnRow
    cards: tuple[StepCard, ...]
    since: int
    waited_ms: float
    in_doubt: bool

    @property
    def title(self) -> str:
        return " ".join(self.row.input_preview.split())[:300]


@dataclass(frozen=True, slots=True)
class InboxParams:
    """The parameters of the URL. ``after`` is the turn behind which the page begins."""

    agent: int | None = None
    tool: str = ""
    after: int | None = None

    @property
    def chosen(self) -> WaitingFilter:
        return WaitingFilter(self.agent, self.tool)

    def query(self, after: int | None = None) -> str:
        """The query string of a page with the same filter."""
        values = {
            "agent": ids.public(ids.Kind.AGENT, self.agent) if self.agent is not None else "",
            "tool": self.tool,
            "after": ids.public(ids.Kind.TURN, after) if after is not None else "",
        }
        return urlencode({name: text for name, text in values.items() if text})


def read_params(values: Mapping[str, str]) -> InboxParams:
    """Read the parameters; what names nothing counts as missing."""
    agent, after = values.get("agent", ""), values.get("after", "")
    return InboxParams(
        ids.parse(ids.Kind.AGENT, agent) if agent else None,
        values.get("tool", "")[:300],
        ids.parse(ids.Kind.TURN, after) if after else None,
    )


def inbox_url(params: InboxParams) -> str:
    """The inbox at these parameters."""
    query = params.query(params.after)
    return at("/inbox/") + (f"?{query}" if query else "")


@page("read")
def inbox(request: PageRequest) -> HttpResponse:
    # read first: a change while the page is built is then sent again rather than missed
    cursor = feed_cursor.newest(request.actor)
    params = read_params(request.GET)
    agents, tools = waiting.agents_and_tools(request.actor)
    context = {
        **_list(request.actor, params),
        "agents": [(ids.public(ids.Kind.AGENT, key), name, key == params.agent) for key, name in agents],
        "tools": [(name, name == params.tool) for name in tools],
        "cursor": cursor,
        "waits": WAITS,
        "parts_url": at(f"/inbox/parts/?{params.query(params.after)}"),
    }
    return render(request, "pages/inbox.html", context)


@page("read")
def inbox_parts(request: PageRequest) -> HttpResponse:
    """The parts of the page that change: the turns, and how many there are."""
    answer = render(request, "pages/_inbox_turns.html", _list(request.actor, read_params(request.GET)))
    answer.write(waiting_badge(request.actor))
    return answer


def _list(actor: Actor, params: InboxParams) -> dict[str, Any]:
    keys = waiting.waiting_turns(actor, params.chosen, after=params.after, limit=PAGE_SIZE + 1)
    shown = keys[:PAGE_SIZE]
    rows = sorted(turn_log.turn_rows(actor, shown), key=lambda row: row.id)
    return {
        "turns": [turn for row in rows if (turn := _turn(actor, row)) is not None],
        "total": waiting.count_waiting(actor),
        "can_run": "run" in actor.actions,
        "back": params.query(params.after),
        "filtered": bool(params.agent is not None or params.tool),
        "first_url": inbox_url(replace(params, after=None)) if params.after is not None else "",
        "next_url": inbox_url(replace(params, after=shown[-1])) if len(keys) > PAGE_SIZE else "",
    }


def _turn(actor: Actor, row: TurnRow) -> WaitingTurn | None:
    """A waiting turn; None where it has gone on meanwhile."""
    lost = Recovery(recovery_events(row.id)) if row.undecided else recovery.NOTHING_LOST
    try:
        turn = read_turns.head(actor, row.id)
    except NotFound:
        return None
    keys = waiting.waiting_steps(row.id, lost.doubts)
    turn = replace(turn, steps=step_pages.steps_by_key(row.id, keys))
    agents, tools = speakers.of_turn(row), partial(turn_responses.client_tools, row.id)
    is_over = turn.status in turn_summary.FINAL
    drawn = [
        recovery.marked(
            step_cards.step_card(turn, step, agents.of(step), client_tools=tools), step, lost, is_over=is_over
        )
        for step in turn.steps
    ]
    cards = tuple(replace(card, fork="") for card in drawn if card.since is not None)
    if not cards:
        return None
    since = min(card.since or 0 for card in cards)
    waited_ms = max(ids.now_us() - since, 0) / 1000
    url = turn_summary.turn_url(turn)
    return WaitingTurn(ids.public(ids.Kind.TURN, row.id), url, row, cards, since, waited_ms, row.undecided)
