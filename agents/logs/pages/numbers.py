"""What is around the rows of a list and counted over all that match: facets, the histogram, the sums.

A browser with JavaScript fetches them once the rows stand; any other gets them with the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpResponse
from django.shortcuts import render

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, Unavailable
from agents.logs.pages import histogram, suggest
from agents.logs.pages.facets import facets
from agents.logs.pages.lists import OF, Place
from agents.logs.store import numbers
from agents.query import parser
from agents.query.tree import Level, Query
from agents.uikit.access import PageRequest, page

BY: Mapping[Level, Sequence[str]] = {
    "turn": ("status", "agent", "model", "type", "tool", "source", "user", "tag"),
    "session": ("agent", "source"),
    "step": ("status", "type", "tool", "model", "agent"),
    "response": ("status", "model", "user"),
}
BUCKETS = 60


@page("read")
def log_numbers(request: PageRequest) -> HttpResponse:
    """The numbers of a list by themselves, to be put in their places."""
    place = place_of(request)
    query = parser.read(request.GET.get("q", ""), now_us=ids.now_us(), zone=zone_of(request), level=place.level)
    shown = {"place": place, "text": query.text, **around(request.actor, place, query, zone_of(request))}
    return render(request, "logs/_numbers.html", shown)


def place_of(request: PageRequest) -> Place:
    """The list whose level the request names, by default that of turns."""
    level = request.GET.get("level", "turn")
    if level not in OF:
        raise InvalidRequest(f"level: say one of {', '.join(OF)}.", param="level")
    return OF[level]


def zone_of(request: PageRequest) -> str:
    """The reader's zone as the URL or the browser's cookie tells it; UTC where it is none we know."""
    name = request.GET.get("tz") or request.COOKIES.get("tz", "")
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (KeyError, ValueError, OSError):
        return "UTC"


def around(actor: Actor, place: Place, query: Query, zone: str) -> dict[str, Any]:
    """Facets, histogram and sums of a list; ``slow`` says that counting took too long."""
    try:
        counted = numbers.facets(actor, query, BY[place.level])
        buckets, width = numbers.histogram(actor, query, BUCKETS, zone=ZoneInfo(zone))
        sums = numbers.stats(actor, query)
    except Unavailable as error:
        return {"slow": error.message, "facets": facets(query, {}, place.link), "ready": True}
    choices = {
        facet.field: [(value.value, value.label, value.count) for value in facet.values if value.count]
        for facet in counted
    }
    return {
        "ready": True,
        "facets": facets(query, choices, place.link),
        "histogram": histogram.drawn(buckets, width, query, place.link, ZoneInfo(zone)),
        "sums": sums,
    }


def later(place: Place, query: Query) -> dict[str, Any]:
    """What stands there until the numbers come."""
    return {"ready": False, "facets": facets(query, {}, place.link), "suggestions": suggest.fields()}
