"""The side panel of a list: the first messages and steps of one turn."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpResponse
from django.shortcuts import render

from agents.logs.pages import turn_summary
from agents.pages import fragments, turn_page_data, turns
from agents.pages.turn_page_data import TurnPageData
from agents.uikit.access import PageRequest, page
from agents.uikit.links import with_params

MAX_STEPS = 40
"""Steps shown; the turn's own page has all."""


@page("read")
def turn_side_panel(request: PageRequest, turn_id: str) -> HttpResponse:
    """The reader view as a fragment, starting near the step ``?step=``."""
    turn_data = turn_page_data.load(request.actor, turn_id, turn_page_data.read_params(request.GET))
    visible, before, after = _cut(turn_data, request.GET.get("step", ""))
    context = {
        **_links(request, turn_data),
        "turn_id": turn_id,
        "can_run": "run" in request.actor.actions and turn_data.about is None,
        "is_final": turn_data.is_final,
        "fork_url": turns.fork_url(turn_data),
        "row": turn_data.row,
        "title": turns.title(turn_data.row),
        "facts": fragments.turn_facts(turn_data.turn, turn_data.row, turn_data.marks, turn_data.calls),
        "before": before,
        "after": after,
        **turns.reader(visible),
    }
    return render(request, "pages/_side_panel.html", context)


def _links(request: PageRequest, turn_data: TurnPageData) -> dict[str, str]:
    """The URLs of the turn's page, at the step that was chosen in a list of steps, and of its other views. They carry
    the query of the list and what was searched for, as the row's own link does."""
    url, step = turn_summary.turn_url(turn_data.turn), request.GET.get("step", "")
    carried = {name: text for name in ("q", "find") if (text := request.GET.get(name))}
    start = {"from": str(turn_data.start)} if step.isdecimal() and turn_data.start else {}
    fragment = f"#step-{step}" if step.isdecimal() else ""
    return {
        "url": with_params(url, {**start, **carried}, fragment),
        "timeline_url": with_params(url, {"view": "timeline", **carried}),
        "raw_url": with_params(url, {"view": "raw", **carried}),
    }


def _cut(turn_data: TurnPageData, step: str) -> tuple[TurnPageData, int, int]:
    """A few steps around the requested or first failed one, and the number of steps before and after them."""
    steps, total = turn_data.steps, turn_data.marks.total
    target = int(step) if step.isdecimal() and len(step) < 10 else turn_data.marks.failed or 0
    first = max(min(target - 3, total - MAX_STEPS), 0) if total > MAX_STEPS else 0
    visible = tuple(item for item in steps if first <= item.number < first + MAX_STEPS)
    if not visible:
        visible = tuple(steps[:MAX_STEPS])
    before, after = (visible[0].number, total - visible[-1].number - 1) if visible else (0, 0)
    return replace(turn_data, turn=replace(turn_data.turn, steps=visible)), before, after
