"""The page of a turn: reader, timeline, raw; the whole values behind it; what can be done to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from agents import ids
from agents.access import Actor
from agents.errors import NotFound
from agents.schemas.logs import TurnRow
from agents.schemas.turns import ItemValue, StepValue, TurnValue
from agents.store import agents, logs, replay, sessions, turns, values
from agents.store.turns import TurnPlace
from agents.ui import acting, blocks, commands, curl, details, facts, fragments, legs, raw, steps
from agents.ui.access import PageRequest, page
from agents.ui.blocks import Value
from agents.ui.commands import Command
from agents.ui.facts import WINDOW
from agents.ui.legs import Leg
from agents.ui.replies import plain, turn_reply
from agents.ui.steps import Typing
from agents.wire.agents import turn_json

VIEWS = ("reader", "timeline", "raw")
MARKDOWN_BUDGET = 40_000
"""Characters of Markdown rendered for one page, the last answers first; the rest stays as written."""

Loaded = tuple[TurnValue, TurnRow, TurnPlace]


@page("read")
def turn_page(request: PageRequest, turn_id: str) -> HttpResponse:
    turn, row, place = _load(request.actor, turn_id)
    view = request.GET.get("view", "")
    view = view if view in VIEWS else "reader"
    start = _start(request, turn)
    shown = turn.steps[start : start + WINDOW]
    answered = legs.of_turn(request.actor, turn.key) if row.api == "responses" else []
    page = Page(request.actor, turn, row, shown, start, answered)
    context = {
        "view": view,
        "turn_id": turn_id,
        "row": row,
        "title": _title(row),
        "session_id": ids.public(ids.Kind.SESSION, turn.session),
        "agent_id": ids.public(ids.Kind.AGENT, row.agent_id) if row.agent_id else "",
        "speaker": row.agent_name or row.model,
        "facts": fragments.turn_facts(turn, row),
        "side": fragments.turn_side(turn, row, place, shown if view == "reader" else None, answered),
        "can_run": "run" in request.actor.actions,
        "final": turn.status in facts.FINAL,
        "cursor": turn.next_seq - 1,
        # by the status that was read with the cursor: a turn that ended since is followed to its end
        "live": turn.status not in facts.FINAL and start + WINDOW >= len(turn.steps),
        **_VIEWS[view](page),
        **_windows(turn, start),
        "commands": _commands(request, page, place),
        "say_url": f"/turns/{turn_id}/say/" if place.agent is None else "",
    }
    if view == "reader" and context["final"] and context["can_run"]:
        context["may_continue"] = _may_continue(page, place)
    return render(request, "agents/turn_detail.html", context)


def _load(actor: Actor, turn_id: str) -> Loaded:
    key = turns.key_of(turn_id)
    turn = values.turn(actor, key)
    rows = logs.turn_rows(actor, [key])
    if not rows:
        raise turns.missing(key)
    return turn, rows[0], turns.place(actor, key)


def _title(row: TurnRow) -> str:
    return " ".join(row.input_preview.split())[:120]


def _start(request: PageRequest, turn: TurnValue) -> int:
    """The first step of the page: as asked, else the last page of a running turn, else the first."""
    asked = request.GET.get("from", "")
    last = max(len(turn.steps) - 1, 0) // WINDOW * WINDOW
    if asked.isdecimal() and len(asked) < 10:
        return min(int(asked) // WINDOW * WINDOW, last)
    return 0 if turn.status in facts.FINAL else last


def _windows(turn: TurnValue, start: int) -> dict[str, Any]:
    end = min(start + WINDOW, len(turn.steps))
    return {
        "earlier": facts.window_query(start - WINDOW) or "?from=0" if start else "",
        "later": facts.window_query(end) if end < len(turn.steps) else "",
        "first_step": start + 1,
        "last_step": end,
        "step_total": len(turn.steps),
    }


# ------------------------------------------------------------------------------------------- the views


@dataclass(frozen=True, slots=True)
class Page:
    """What a view of a turn is made from: ``shown`` are its steps from number ``start`` on,
    ``answered`` the responses it is made of."""

    actor: Actor
    turn: TurnValue
    row: TurnRow
    shown: Sequence[StepValue]
    start: int
    answered: Sequence[Leg]


def _reader(page: Page) -> dict[str, Any]:
    given = legs.inputs([leg.record for leg in page.answered])
    return {
        "messages_html": _asked(page, given) if page.start == 0 else [],
        "steps_html": [html for _, html in sorted(_thread(page, given), key=lambda pair: pair[0])],
    }


def _asked(page: Page, given: Mapping[int, Sequence[ItemValue]]) -> list[str]:
    """What the turn was started with."""
    url, asked = f"{facts.turn_url(page.turn)}value/", details.messages(page.turn.input_messages)
    first = [leg for leg in page.answered if leg.number == 1]
    roles = legs.said_by(asked, given[first[0].record.key] if first else ())
    said = zip(asked, roles, strict=True)
    return [fragments.turn_message(message, str(place), url, role) for place, (message, role) in enumerate(said)]


def _thread(page: Page, given: Mapping[int, Sequence[ItemValue]]) -> Iterator[tuple[float, str]]:
    """The steps and, between them, where later responses begin and what these brought along: each with
    its place."""
    rendered = within_budget(page.shown)
    for step in page.shown:
        typing, drawn = _typing(page.turn, step), step.key in rendered
        html = fragments.step_card(page.turn, step, page.row.agent_name, typing=typing, rendered=drawn)
        yield step.number, html
    for leg in page.answered:
        if leg.number > 1 and page.start <= leg.record.first_step <= page.start + len(page.shown):
            yield leg.record.first_step - 0.5, fragments.leg_head(page.turn, leg, given[leg.record.key])


def within_budget(shown: Sequence[StepValue]) -> set[int]:
    """The inferences whose Markdown a page renders."""
    left, chosen = MARKDOWN_BUDGET, set()
    for step in reversed(shown):
        if step.type == "inference" and step.detail and left > 0:
            left -= min(len(step.detail), 20_000)
            chosen.add(step.key)
    return chosen


def _typing(turn: TurnValue, step: StepValue) -> Typing | None:
    """What an open inference has said, so that a reload in mid-run loses nothing."""
    if step.type != "inference" or step.status != "in_progress":
        return None
    return Typing(replay.typed_text(turn.key, step.key), replay.typed_text(turn.key, step.key, "reasoning"))


def _timeline(page: Page) -> dict[str, Any]:
    return {"timeline": fragments.turn_timeline(page.turn, page.shown, wide=True)}


def _raw(page: Page) -> dict[str, Any]:
    lines, more = raw.lines(page.turn, replay.load(page.turn.key))
    told = [(leg, raw.response(leg.record)) for leg in page.answered]
    return {
        "whole": raw.whole_turn(page.turn),
        "lines": lines,
        "more_lines": more,
        "events_url": f"{facts.turn_url(page.turn)}events.jsonl",
        "responses": told,
    }


_VIEWS = {"reader": _reader, "timeline": _timeline, "raw": _raw}


@page("read")
def turn_parts(request: PageRequest, turn_id: str) -> HttpResponse:
    """What changes beside the steps while a turn runs: its facts, its side, its timeline."""
    turn, row, place = _load(request.actor, turn_id)
    wide = request.GET.get("view") == "timeline"
    shown = turn.steps[_start(request, turn) :][:WINDOW]
    answered = legs.of_turn(request.actor, turn.key) if row.api == "responses" else []
    side = fragments.turn_side(turn, row, place, None if wide else shown, answered)
    parts = [fragments.turn_facts(turn, row), side]
    return HttpResponse([*parts, fragments.turn_timeline(turn, shown, wide=True)] if wide else parts)


def _may_continue(page: Page, place: TurnPlace) -> bool:
    """Whether the conversation ends with this turn and its agent still takes turns; behind a response it
    always goes on, if only as a branch."""
    if place.agent is None:
        return bool(page.answered) and page.answered[-1].record.is_last
    session = sessions.get(page.actor, page.turn.session)
    return session.last_turn == page.turn.key and not agents.get(page.actor, place.agent).disabled


def _commands(request: PageRequest, page: Page, place: TurnPlace) -> list[Command]:
    """What can be copied to ask the same again, or to go on."""
    where = curl.Place(
        base_url=request.build_absolute_uri("/")[:-1],
        agent=ids.public(ids.Kind.AGENT, place.agent) if place.agent else "",
        session=ids.public(ids.Kind.SESSION, page.turn.session),
        with_key=settings.REQUIRE_LOGIN,
    )
    if page.answered:
        return commands.of_responses(where, page.turn, [leg.record for leg in page.answered])
    return commands.of_agent(where, page.turn, place, page.row.session_name) if place.agent else []


# ------------------------------------------------------------------------------------- whole values


@page("read")
def step_value(request: PageRequest, turn_id: str, step_id: str) -> HttpResponse:
    """The whole text of a piece of a step, ``?part=result``; without a part all that is stored."""
    turn = values.turn(request.actor, turns.key_of(turn_id))
    key = ids.parse(ids.Kind.STEP, step_id)
    step = next((step for step in turn.steps if step.key == key), None)
    if step is None:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    part = request.GET.get("part", "")
    return plain(_part(steps.values(step), part) if part else step.detail or b"{}")


@page("read")
def turn_value(request: PageRequest, turn_id: str) -> HttpResponse:
    """The whole text of a message a turn was started with, ``?part=input-0``, or of its answer."""
    turn = values.turn(request.actor, turns.key_of(turn_id))
    answered = details.message(turn.output_message)
    whole = [Value("answer", details.words(answered.content) if answered else "")]
    whole += [
        Value(f"{name}-{number}", details.words(content))
        for number, message in enumerate(details.messages(turn.input_messages))
        for name, content in (("input", message.content), ("context", message.context))
    ]
    whole += legs.later_values(request.actor, turn.key)
    return plain(_part(whole, request.GET.get("part", "")))


def _part(whole: Sequence[Value], name: str) -> str:
    text = blocks.pick(whole, name)
    if text is None:
        raise NotFound(f"There is no part '{name[:80]}' here.")
    return text


@page("read")
def turn_as_json(request: PageRequest, turn_id: str) -> HttpResponse:
    """The turn as the Agents API gives it."""
    return plain(turn_json(values.turn(request.actor, turns.key_of(turn_id))), "application/json")


@page("read")
def turn_events(request: PageRequest, turn_id: str) -> HttpResponse:
    """All of a turn's events and deltas, one JSON object a line."""
    turn = values.turn(request.actor, turns.key_of(turn_id))
    return plain(b"".join(raw.events_json(replay.load(turn.key))))


# ------------------------------------------------------------------------------------------- acting


@page("run")
@require_POST
def answer(request: PageRequest, turn_id: str) -> HttpResponse:
    """Answer the calls a turn waits for."""
    posted = {name: str(text) for name, text in request.POST.items()}
    acting.answer(request.actor, turns.key_of(turn_id), posted)
    return turn_reply(request, turn_id)


@page("run")
@require_POST
def say(request: PageRequest, turn_id: str) -> HttpResponse:
    """Go on from the last response of a turn; leads to the new turn."""
    return turn_reply(request, acting.say_after(request.actor, turns.key_of(turn_id), request.POST.get("text", "")))


@page("run")
@require_POST
def cancel(request: PageRequest, turn_id: str) -> HttpResponse:
    acting.cancel(request.actor, turns.key_of(turn_id))
    return turn_reply(request, turn_id)
