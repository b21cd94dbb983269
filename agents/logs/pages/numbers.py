"""Show the numbers of a list, counted over all rows that match: facets, the histogram, the sums.

A browser with JavaScript fetches them after the rows; any other gets them with the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpResponse
from django.shortcuts import render

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, Unavailable
from agents.logs.pages import histogram
from agents.logs.pages.facets import facets, metadata_menu
from agents.logs.pages.lists import LIST_OF_LEVEL, ListTab
from agents.logs.schemas.sorting import read_order
from agents.logs.store import known_values, numbers, row_feedback
from agents.query import parser
from agents.query.tree import Level, Query
from agents.uikit.access import PageRequest, page
from agents.uikit.kept_numbers import kept_numbers, url_with_numbers

BY: Mapping[Level, Sequence[str]] = {
    "turn": ("status", "agent", "model", "type", "tool", "source", "user", "tag", "env", "prompt", "error.message"),
    "session": ("agent", "source"),
    "step": ("status", "type", "tool", "model", "agent", "error.message"),
    "response": ("status", "model", "user"),
}
BUCKETS = 60


@page("read")
def log_numbers(request: PageRequest) -> HttpResponse:
    """Render the numbers of a list alone, for the script that inserts them into the page."""
    tab = tab_of(request)
    query = parser.read(request.GET.get("q", ""), now_us=ids.now_us(), zone=zone_of(request), level=tab.level)
    context = {"place": tab, "text": query.text, **kept_list_numbers(request, tab, query)}
    return render(request, "logs/_numbers.html", context)


def tab_of(request: PageRequest) -> ListTab:
    """Return the list of the request's level, by default that of turns."""
    level = request.GET.get("level", "turn")
    if level not in LIST_OF_LEVEL:
        raise InvalidRequest(f"level: say one of {', '.join(LIST_OF_LEVEL)}.", param="level")
    return in_order(request, LIST_OF_LEVEL[level])


def in_order(request: PageRequest, tab: ListTab) -> ListTab:
    """Return a list in the order of the request."""
    return replace(tab, order=read_order(request.GET.get("sort", "")))


def zone_of(request: PageRequest) -> str:
    """Return the reader's time zone from the URL or the browser's cookie; UTC where it is unknown."""
    name = request.GET.get("tz") or request.COOKIES.get("tz", "")
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (KeyError, ValueError, OSError):
        return "UTC"


def kept_list_numbers(request: PageRequest, tab: ListTab, query: Query) -> dict[str, Any]:
    """Return the context of `list_numbers`, which may have been counted a while ago."""
    actor, zone = request.actor, zone_of(request)
    counted = kept_numbers.counted(
        actor, tab.level, (query.text, zone, tab.order.text), lambda: list_numbers(actor, tab, query, zone)
    )
    return {**counted.numbers, "counted": counted}


def list_numbers(actor: Actor, tab: ListTab, query: Query, zone: str) -> dict[str, Any]:
    """Return the facets, histogram and sums of a list; ``slow`` is the message where counting took too long."""
    empty: dict[str, Any] = {"ready": True, "slow": "", "histogram": None, "sums": None}
    try:
        overview = numbers.overview(actor, query, BY[tab.level], BUCKETS, ZoneInfo(zone))
    except Unavailable as error:
        return empty | {"slow": error.message, "facets": facets(query, (), tab.link)}
    menus = facets(query, overview.facets, tab.link, row_feedback.reader.score_names(tab.level, actor))
    if tab.level == "turn":
        paths = dict.fromkeys(path for (path, _value), _count in known_values.pairs(actor, "meta").most_common())
        menus += [metadata_menu({path: tab.values_link(f"meta.{path}", query.text) for path in paths})] if paths else []
    return empty | {
        "facets": menus,
        "histogram": histogram.chart(overview.buckets, overview.width, query, tab.link, ZoneInfo(zone)),
        "sums": overview.stats,
    }


def pending_numbers(request: PageRequest, tab: ListTab, query: Query) -> dict[str, Any]:
    """Return the placeholders until the numbers arrive."""
    empty = {"ready": False, "slow": "", "histogram": None, "sums": None, "count_url": url_with_numbers(request)}
    return {**empty, "facets": facets(query, (), tab.link)}
