"""The page of a turn: reader, timeline, raw; the whole values behind it; what can be done to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from agents import ids
from agents.access import Actor
from agents.errors import NotFound
from agents.schemas.logs import TurnRow
from agents.schemas.turns import StepValue, TurnValue
from agents.store import agents, logs, replay, sessions, turns, values
from agents.store.turns import TurnPlace
from agents.ui import acting, blocks, curl, details, facts, fragments, raw, steps
from agents.ui.access import PageRequest, page
from agents.ui.blocks import Value
from agents.ui.facts import WINDOW
from agents.ui.replies import turn_reply
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
    context = {
        "view": view,
        "turn_id": turn_id,
        "row": row,
        "title": _title(row),
        "session_id": ids.public(ids.Kind.SESSION, turn.session),
        "agent_id": ids.public(ids.Kind.AGENT, row.agent_id) if row.agent_id else "",
        "speaker": row.agent_name or row.model,
        "facts": fragments.turn_facts(turn, row),
        "side": fragments.turn_side(turn, row, place, shown if view == "reader" else None),
        "can_run": "run" in request.actor.actions,
        "final": turn.status in facts.FINAL,
        "cursor": turn.next_seq - 1,
        # by the status that was read with the cursor: a turn that ended since is followed to its end
        "live": turn.status not in facts.FINAL and start + WINDOW >= len(turn.steps),
        **_VIEWS[view](turn, row, shown),
        **_windows(turn, start),
        **_commands(request, turn, place, row),
    }
    if view == "reader" and context["final"] and context["can_run"]:
        context["may_continue"] = _may_continue(request.actor, turn, place)
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


def _reader(turn: TurnValue, row: TurnRow, shown: Sequence[StepValue]) -> dict[str, Any]:
    url = f"{facts.turn_url(turn)}value/"
    asked = details.messages(turn.input_messages) if not shown or shown[0].number == 0 else []
    rendered = within_budget(shown)
    return {
        "messages_html": [fragments.turn_message(message, number, url) for number, message in enumerate(asked)],
        "steps_html": [
            fragments.step_card(turn, step, row.agent_name, typing=_typing(turn, step), rendered=step.key in rendered)
            for step in shown
        ],
    }


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


def _timeline(turn: TurnValue, row: TurnRow, shown: Sequence[StepValue]) -> dict[str, Any]:
    return {"timeline": fragments.turn_timeline(turn, shown, wide=True)}


def _raw(turn: TurnValue, row: TurnRow, shown: Sequence[StepValue]) -> dict[str, Any]:
    lines, more = raw.lines(turn, replay.load(turn.key))
    return {"whole": raw.whole_turn(turn), "lines": lines, "more_lines": more}


_VIEWS = {"reader": _reader, "timeline": _timeline, "raw": _raw}


@page("read")
def turn_parts(request: PageRequest, turn_id: str) -> HttpResponse:
    """What changes beside the steps while a turn runs: its facts, its side, its timeline."""
    turn, row, place = _load(request.actor, turn_id)
    wide = request.GET.get("view") == "timeline"
    shown = turn.steps[_start(request, turn) :][:WINDOW]
    parts = [fragments.turn_facts(turn, row), fragments.turn_side(turn, row, place, None if wide else shown)]
    return HttpResponse([*parts, fragments.turn_timeline(turn, shown, wide=True)] if wide else parts)


def _may_continue(actor: Actor, turn: TurnValue, place: TurnPlace) -> bool:
    """Whether the conversation ends with this turn and its agent still takes turns."""
    session = sessions.get(actor, turn.session)
    return session.last_turn == turn.key and place.agent is not None and not agents.get(actor, place.agent).disabled


def _commands(request: PageRequest, turn: TurnValue, place: TurnPlace, row: TurnRow) -> dict[str, str]:
    if place.agent is None:
        return {}
    where = curl.Place(
        base_url=request.build_absolute_uri("/")[:-1],
        agent=ids.public(ids.Kind.AGENT, place.agent),
        session=ids.public(ids.Kind.SESSION, turn.session),
        with_key=settings.REQUIRE_LOGIN,
    )
    asked, own = json.loads(turn.input_messages), json.loads(place.request or "{}")
    return {
        "curl_continue": curl.continue_session(where),
        "curl_again": curl.create_again(where, asked, own, row.session_name),
    }


# ------------------------------------------------------------------------------------- whole values


def _plain(body: str | bytes, kind: str = "text/plain") -> HttpResponse:
    """Hostile text by itself: never a page, whatever it looks like."""
    data = body.encode(errors="replace") if isinstance(body, str) else body
    headers = {"Content-Security-Policy": "default-src 'none'; sandbox", "X-Content-Type-Options": "nosniff"}
    return HttpResponse(data, content_type=f"{kind}; charset=utf-8", headers=headers)


@page("read")
def step_value(request: PageRequest, turn_id: str, step_id: str) -> HttpResponse:
    """The whole text of a piece of a step, ``?part=result``; without a part all that is stored."""
    turn = values.turn(request.actor, turns.key_of(turn_id))
    key = ids.parse(ids.Kind.STEP, step_id)
    step = next((step for step in turn.steps if step.key == key), None)
    if step is None:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    part = request.GET.get("part", "")
    return _plain(_part(steps.values(step), part) if part else step.detail or b"{}")


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
    return _plain(_part(whole, request.GET.get("part", "")))


def _part(whole: Sequence[Value], name: str) -> str:
    text = blocks.pick(whole, name)
    if text is None:
        raise NotFound(f"There is no part '{name[:80]}' here.")
    return text


@page("read")
def turn_as_json(request: PageRequest, turn_id: str) -> HttpResponse:
    """The turn as the Agents API gives it."""
    return _plain(turn_json(values.turn(request.actor, turns.key_of(turn_id))), "application/json")


@page("read")
def turn_events(request: PageRequest, turn_id: str) -> HttpResponse:
    """All of a turn's events and deltas, one JSON object a line."""
    turn = values.turn(request.actor, turns.key_of(turn_id))
    return _plain(b"".join(raw.events_json(replay.load(turn.key))))


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
def cancel(request: PageRequest, turn_id: str) -> HttpResponse:
    acting.cancel(request.actor, turns.key_of(turn_id))
    return turn_reply(request, turn_id)
