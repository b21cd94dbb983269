"""The page of all values of a field under a query, with a search: a facet beside a list has only the most frequent."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import translation

from agents.base import ids
from agents.base.errors import InvalidRequest, Unavailable
from agents.base.tokenizer import fold
from agents.logs.pages.facets import choices_of, facet_title, value_links
from agents.logs.pages.numbers import BY, tab_of, zone_of
from agents.logs.store import numbers
from agents.query import parser
from agents.query.describe import describe
from agents.uikit.access import PageRequest, page

META = "meta."
MAX_VALUES = 5_000
"""Values that are searched."""
MAX_LINKS = 500
"""Values that are shown at once."""


@page("read")
def facet_values(request: PageRequest) -> HttpResponse:
    tab, field, text = tab_of(request), request.GET.get("field", ""), request.GET.get("find", "").strip()[:200]
    if field not in BY[tab.level] and not (tab.level == "turn" and field.startswith(META)):
        raise InvalidRequest(f"field: say one of {', '.join(BY[tab.level])}.", param="field")
    query = parser.read(request.GET.get("q", ""), now_us=ids.now_us(), zone=zone_of(request), level=tab.level)
    context = {"place": tab, "field": field, "title": facet_title(field), "text": query.text, "find": text, "slow": ""}
    context |= {
        "sentence": describe(query, language=translation),
        "list_url": tab.link(query.text),
        "values": (),
        "more": 0,
    }
    try:
        [facet] = numbers.facets(request.actor, query, [field], MAX_VALUES)
    except Unavailable as error:
        return render(request, "logs/facet_values.html", context | {"slow": error.message}, status=503)
    matching = [value for value in choices_of(facet) if fold(text) in fold(f"{value[0]} {value[1]}")]
    links = value_links(query, field, matching[:MAX_LINKS], tab.link)
    context |= {"values": links, "more": len(matching) + facet.more - len(matching[:MAX_LINKS])}
    return render(request, "logs/facet_values.html", context)
