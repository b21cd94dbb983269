"""A turn beside the list it was found in: its words and steps, as far as one looks at first."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpResponse
from django.shortcuts import render

from agents.logs.pages import turn_summary
from agents.pages import fragments, turn_page_data, turns
from agents.pages.turn_page_data import Page
from agents.uikit.access import PageRequest, page

MOST = 40
"""Steps shown; the turn's own page has all."""


@page("read")
def turn_peek(request: PageRequest, turn_id: str) -> HttpResponse:
    """The reader by itself. ``?step=`` is a step it begins near."""
    found = turn_page_data.load(request.actor, turn_id, turn_page_data.asked(request.GET))
    shown, before, behind = _cut(found, request.GET.get("step", ""))
    context = {
        "url": turn_summary.turn_url(found.turn),
        "turn_id": turn_id,
        "row": found.row,
        "title": turns.title(found.row),
        "facts": fragments.turn_facts(found.turn, found.row, found.marks),
        "before": before,
        "behind": behind,
        **turns.reader(shown),
    }
    return render(request, "pages/_side_panel.html", context)


def _cut(found: Page, step: str) -> tuple[Page, int, int]:
    """A few steps, from the one asked for or what failed first; and how many there are before and behind."""
    steps, total = found.shown, found.marks.total
    wanted = int(step) if step.isdecimal() and len(step) < 10 else found.marks.failed or 0
    first = max(min(wanted - 3, total - MOST), 0) if total > MOST else 0
    kept = tuple(each for each in steps if first <= each.number < first + MOST)
    if not kept:
        kept = tuple(steps[:MOST])
    before, behind = (kept[0].number, total - kept[-1].number - 1) if kept else (0, 0)
    return replace(found, turn=replace(found.turn, steps=kept)), before, behind
