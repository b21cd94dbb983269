"""The page of a turn: reader, timeline, raw; what can be done to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.errors import QuerySyntax
from agents.base.store import feed_cursor
from agents.logs.pages import turn_summary
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import adjacent_turns
from agents.pages import (
    code_samples,
    curl,
    external,
    external_steps,
    fragments,
    raw_view,
    step_details,
    turn_actions,
    turn_page_data,
    turn_responses,
    turn_search,
)
from agents.pages.code_samples import Command
from agents.pages.page_hooks import places
from agents.pages.step_cards import Typing
from agents.pages.turn_page_data import VIEWS, Page
from agents.query import parser
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot, TurnSnapshot
from agents.record.store import agents, replay, sessions, step_pages, turns
from agents.telemetry.pages import external_spans
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import turn_reply

__all__ = ["VIEWS"]

MARKDOWN_BUDGET = 40_000
"""Characters of Markdown rendered for one page, the last answers first; the rest stays as written."""


@page("read")
def turn_page(request: PageRequest, turn_id: str) -> HttpResponse:
    # before the rows are read: what changes in between is then told again rather than missed
    changed = feed_cursor.newest(request.actor)
    shown = turn_page_data.load(request.actor, turn_id, turn_page_data.asked(request.GET))
    row, place, view = shown.row, shown.place, shown.asked.view
    about = shown.about
    context = {
        "view": view,
        "turn_id": turn_id,
        "row": row,
        "title": title(row),
        "session_id": ids.public(ids.Kind.SESSION, shown.turn.session),
        "agent_id": ids.public(ids.Kind.AGENT, row.agent_id) if row.agent_id else "",
        "speaker": row.agent_name or row.model,
        "facts": fragments.turn_facts(shown.turn, row, shown.marks),
        "side": fragments.turn_side(shown),
        "judge_url": f"/turns/{turn_id}/judged/",
        "about": about,
        "can_run": "run" in request.actor.actions and about is None,
        "final": shown.is_final,
        "cursor": shown.turn.next_seq - 1 if about is None else changed,
        # by the status that was read with the cursor: a turn that ended since is followed to its end
        "live": not shown.is_final and shown.is_last,
        "finding": shown.finding,
        "asked_find": shown.asked.find,
        "kept": _kept(request, "find", "q"),
        "list_kept": _kept(request, "q"),
        **(_spans if view == "raw" and about else _VIEWS[view])(shown),
        **fragments.paging(shown),
        **_around(request, shown),
        "commands": _commands(request, shown),
        "lineage": places.lineage(request.actor, shown.turn.key),
        "say_url": f"/turns/{turn_id}/say/" if place.agent is None else "",
    }
    if view == "reader" and context["final"] and context["can_run"]:
        context["may_continue"] = _may_continue(shown)
    return render(request, "pages/turn.html", context)


def _kept(request: HttpRequest, *names: str) -> str:
    """What of the URL goes with its reader, to be put behind another query string."""
    kept = {name: request.GET[name] for name in names if name in request.GET}
    return f"&{urlencode(kept)}" if kept else ""


def title(row: TurnRow) -> str:
    return " ".join(row.input_preview.split())[:120]


def _around(request: HttpRequest, shown: Page) -> dict[str, Any]:
    """The turns before and behind: in the session, and in the list the reader came from."""
    beside = adjacent_turns.in_session(shown.actor, shown.turn.session, shown.turn.key)
    around: dict[str, Any] = {"session_before": _link(beside.before), "session_behind": _link(beside.after)}
    if "q" not in request.GET:
        return around
    text = request.GET["q"].strip()
    try:
        query = parser.parse(text, now_us=ids.now_us())
        listed = adjacent_turns.in_list(shown.actor, query, shown.turn.key)
    except QuerySyntax:
        return around  # the list would say what is wrong with it; here it is only where the reader came from
    return around | {
        "list_query": text,
        "in_list": True,
        "list_older": _link(listed.before),
        "list_newer": _link(listed.after),
    }


def _link(key: int | None) -> str:
    return f"/turns/{ids.public(ids.Kind.TURN, key)}/" if key is not None else ""


# ------------------------------------------------------------------------------------------- the views


def reader(page: Page) -> dict[str, Any]:
    """The messages and steps of a page as HTML."""
    given = turn_responses.inputs([leg.record for leg in page.answered])
    asked = _asked(page, given) if page.start == 0 else []
    cards = [html for _, html in sorted(_thread(page, given), key=lambda pair: pair[0])]
    cards += _answer(page)
    if page.finding is not None:
        phrases = page.finding.phrases
        asked = [str(turn_search.marked(html, phrases)) for html in asked]
        cards = [str(turn_search.marked(html, phrases)) for html in cards]
    return {"messages_html": asked, "steps_html": cards}


def _asked(page: Page, given: Mapping[int, Sequence[ItemSnapshot]]) -> list[str]:
    """What the turn was started with."""
    url, asked = f"{turn_summary.turn_url(page.turn)}value/", step_details.messages(page.turn.input_messages)
    first = [leg for leg in page.answered if leg.number == 1]
    roles = turn_responses.said_by(asked, given[first[0].record.key] if first else ())
    said = zip(asked, roles, strict=True)
    messages = [fragments.turn_message(message, str(place), url, role) for place, (message, role) in enumerate(said)]
    return messages or ([fragments.hidden_message()] if page.about and page.about.is_hidden else [])


def _thread(page: Page, given: Mapping[int, Sequence[ItemSnapshot]]) -> Iterator[tuple[float, str]]:
    """The steps and, between them, where later responses begin and what these brought along: each with
    its place."""
    rendered = within_budget(page.shown)
    said = places.said_of_steps(page.actor, page.turn.session, page.turn.key)
    is_foreign = page.about is not None
    depths = step_pages.depths(page.shown) if is_foreign else {}
    speakers = external_steps.speakers(page.shown, page.row.agent_name) if is_foreign else {}
    for step in page.shown:
        typing, drawn = _typing(page.turn, step), step.key in rendered
        html = fragments.step_card(
            page.turn,
            step,
            speakers.get(step.key, page.row.agent_name),
            typing=typing,
            rendered=drawn,
            said=said.get(step.key, ""),
            depth=depths.get(step.key, 0),
        )
        yield step.number, html
    for leg in page.answered:
        if leg.number > 1 and page.start <= leg.record.first_step <= page.start + len(page.shown):
            yield leg.record.first_step - 0.5, fragments.leg_head(page.turn, leg, given[leg.record.key])


def _answer(page: Page) -> list[str]:
    """What a foreign turn answered, where none of its steps said it."""
    if page.about is None or not page.is_last or external.is_answered(page.turn):
        return []
    message = step_details.message(page.turn.output_message) or step_details.Message()
    return [fragments.turn_answer(message, f"{turn_summary.turn_url(page.turn)}value/", page.row.agent_name)]


def within_budget(shown: Sequence[StepSnapshot]) -> set[int]:
    """The inferences whose Markdown a page renders."""
    left, chosen = MARKDOWN_BUDGET, set()
    for step in reversed(shown):
        if step.type == "inference" and step.detail and left > 0:
            left -= min(len(step.detail), 20_000)
            chosen.add(step.key)
    return chosen


def _typing(turn: TurnSnapshot, step: StepSnapshot) -> Typing | None:
    """What an open inference has said, so that a reload in mid-run loses nothing."""
    if step.type != "inference" or step.status != "in_progress":
        return None
    return Typing(replay.typed_text(turn.key, step.key), replay.typed_text(turn.key, step.key, "reasoning"))


def _timeline(page: Page) -> dict[str, Any]:
    return {"timeline": fragments.turn_timeline(page)}


def _raw(page: Page) -> dict[str, Any]:
    first = min(page.asked.start or 0, max(page.turn.next_seq - 1, 0)) // raw_view.ENTRIES * raw_view.ENTRIES
    told = [(leg, raw_view.response(leg.record)) for leg in page.answered]
    return {
        "whole": raw_view.whole_turn(page.turn, is_whole=page.is_whole),
        "lines": raw_view.lines(page.turn, first),
        "first_event": first,
        "last_event": min(first + raw_view.ENTRIES, page.turn.next_seq) - 1,
        "last_event_of_all": page.turn.next_seq - 1,
        "events_before": page.query(max(first - raw_view.ENTRIES, 0)) if first else "",
        "events_behind": page.query(first + raw_view.ENTRIES) if first + raw_view.ENTRIES < page.turn.next_seq else "",
        "events_url": f"{turn_summary.turn_url(page.turn)}events.jsonl",
        "responses": told,
    }


def _spans(page: Page) -> dict[str, Any]:
    """The raw view of a foreign turn: it has spans where others have events."""
    first = min(page.asked.start or 0, raw_view.LAST_PAGE) // raw_view.ENTRIES * raw_view.ENTRIES
    lines, total = external_spans.raw_lines(page.turn, first)
    return {
        "whole": raw_view.whole_turn(page.turn, is_whole=page.is_whole),
        "spans": lines,
        "spans_url": f"{turn_summary.turn_url(page.turn)}spans.jsonl",
        "first_span": first + 1,
        "last_span": first + len(lines),
        "span_total": total,
        "spans_before": page.query(max(first - raw_view.ENTRIES, 0)) if first else "",
        "spans_behind": page.query(first + raw_view.ENTRIES) if first + raw_view.ENTRIES < total else "",
    }


_VIEWS = {"reader": reader, "timeline": _timeline, "raw": _raw}


@page("read")
def turn_parts(request: PageRequest, turn_id: str) -> HttpResponse:
    """What changes beside the steps while a turn runs: its facts, its side, its timeline."""
    shown = turn_page_data.load(request.actor, turn_id, turn_page_data.asked(request.GET))
    parts = [fragments.turn_facts(shown.turn, shown.row, shown.marks), fragments.turn_side(shown)]
    return HttpResponse([*parts, fragments.turn_timeline(shown)] if shown.asked.view == "timeline" else parts)


def _may_continue(page: Page) -> bool:
    """Whether the conversation ends with this turn and its agent still takes turns; behind a response it
    always goes on, if only as a branch."""
    if page.place.agent is None:
        return bool(page.answered) and page.answered[-1].record.is_last
    session = sessions.get(page.actor, page.turn.session)
    return session.last_turn == page.turn.key and not agents.get(page.actor, page.place.agent).disabled


def _commands(request: PageRequest, page: Page) -> list[Command]:
    """What can be copied to ask the same again, or to go on; nothing of what runs elsewhere."""
    if page.about is not None:
        return []
    where = curl.Place(
        base_url=request.build_absolute_uri("/")[:-1],
        agent=ids.public(ids.Kind.AGENT, page.place.agent) if page.place.agent else "",
        session=ids.public(ids.Kind.SESSION, page.turn.session),
        with_key=settings.REQUIRE_LOGIN,
    )
    if page.answered:
        return code_samples.of_responses(where, page.turn, [leg.record for leg in page.answered])
    return code_samples.of_agent(where, page.turn, page.place, page.row.session_name) if page.place.agent else []


# ------------------------------------------------------------------------------------------- acting


@page("run")
@require_POST
def answer(request: PageRequest, turn_id: str) -> HttpResponse:
    """Answer the calls a turn waits for."""
    posted = {name: str(text) for name, text in request.POST.items()}
    turn_actions.answer(request.actor, turns.key_of(turn_id), posted)
    return turn_reply(request, turn_id)


@page("run")
@require_POST
def say(request: PageRequest, turn_id: str) -> HttpResponse:
    """Go on from the last response of a turn; leads to the new turn."""
    return turn_reply(
        request, turn_actions.say_after(request.actor, turns.key_of(turn_id), request.POST.get("text", ""))
    )


@page("run")
@require_POST
def cancel(request: PageRequest, turn_id: str) -> HttpResponse:
    turn_actions.cancel(request.actor, turns.key_of(turn_id))
    return turn_reply(request, turn_id)
