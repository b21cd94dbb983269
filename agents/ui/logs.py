"""The logs list: a query in the URL, the turns it selects, what they sum to, and how to narrow it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from agents import ids
from agents.errors import NotFound, QuerySyntax
from agents.query import chips, describe, parser, writer
from agents.query.fields import FIELDS
from agents.query.tree import Query
from agents.store import changes, logs
from agents.ui import fragments
from agents.ui.access import PageRequest, page
from agents.ui.facets import facets, suggestions
from agents.ui.lists import LOGS, RESPONSES, Place, page_of_id, tabs

PAGE = 50

EXAMPLES = ("status:failed", "duration:>10s", "has:tools", "is:live", "started:>-24h", '"refund policy"')


@page("read")
def home(request: PageRequest) -> HttpResponse:
    return redirect("/logs/")


@page("read")
def log_list(request: PageRequest) -> HttpResponse:
    return listed(request, LOGS, _turns)


@page("read")
def response_list(request: PageRequest) -> HttpResponse:
    """The turns of the Responses API with the ids of their responses: the same rows under the same
    queries, so that what is found in one list is found in the other, and what a response of several
    legs did is one row."""
    return listed(request, RESPONSES, _turns)


Content = Callable[[PageRequest, "Asked", int], dict[str, Any] | None]
"""Reads the rows of a list and says what its page shows; None leads to its newest page."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for: the query as written in the bar, and the one its rows fulfil."""

    place: Place
    query: Query
    narrowed: Query


def listed(request: PageRequest, place: Place, content: Content) -> HttpResponse:
    """The page of a list under the query of the URL; a query that is only an id leads to what it names."""
    text = request.GET.get("q", "").strip()
    if there := page_of_id(text):
        return redirect(there)
    try:
        query = _query(request, text)
        ranged = _with_range(request, query)
        asked = Asked(place, query, _query(request, place.narrowed(query.text)) if place.fixed else query)
    except QuerySyntax as wrong:
        return render(request, "agents/log_list.html", _refused(place, text, wrong), status=400)
    if ranged is not None:
        return redirect(place.link(ranged))
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = changes.latest()
    found = content(request, asked, cursor)
    if found is None:
        return redirect(place.link(query.text))  # the newest page, full and live
    return render(request, "agents/log_list.html", {**_bar(request, asked), **found})


def _turns(request: PageRequest, asked: Asked, cursor: int) -> dict[str, Any] | None:
    after, before = (_key(request, name) for name in ("after", "before"))
    found = logs.turns_page(request.actor, asked.narrowed, after=after, before=before, limit=PAGE)
    if before is not None and not found.has_newer:
        return None
    return {
        "sums": logs.summary(request.actor, asked.narrowed),
        "rows": fragments.list_rows(asked.place.level, found.rows, asked.query),
        **paging(asked, ids.Kind.TURN, [row.id for row in found.rows], newer=found.has_newer, older=found.has_older),
        **live(asked, cursor, newest=found.rows[0].id if found.rows else None, at_top=not found.has_newer),
    }


@page("read")
def log_sums(request: PageRequest) -> HttpResponse:
    """The sum line by itself, for a page whose list has changed."""
    query = _query(request, request.GET.get("q", "").strip())
    return render(request, "agents/_log_sums.html", {"sums": logs.summary(request.actor, query)})


def _query(request: HttpRequest, text: str) -> Query:
    return parser.parse(text, now_us=ids.now_us(), zone=request.GET.get("tz") or _zone_of(request))


def _zone_of(request: HttpRequest) -> str:
    """The reader's zone as the browser told it by a cookie; UTC where it is none we know."""
    name = request.COOKIES.get("tz", "")
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (KeyError, ValueError, OSError):
        return "UTC"


def _with_range(request: HttpRequest, query: Query) -> str | None:
    """The query narrowed to the range that the form of times sent; None where it sent none."""
    first, last = (request.GET.get(name, "").strip() for name in ("from", "to"))
    return chips.with_term(query.text, "started", f"{first}..{last}") if first or last else None


def _key(request: HttpRequest, name: str) -> int | None:
    public_id = request.GET.get(name)
    if public_id is None:
        return None
    key = ids.parse(ids.Kind.TURN, public_id)
    if key is None:
        raise NotFound(f"There is no turn '{public_id[:80]}' to page from.")
    return key


def _refused(place: Place, text: str, wrong: QuerySyntax) -> dict[str, Any]:
    """The page of a query that cannot be read: the bar, and what is wrong where."""
    at = min(wrong.position, len(text))
    word = text[at:].split(" ", 1)[0] if text[at:].strip() else ""
    return {
        "place": place,
        "tabs": tabs(place, ""),
        "text": text,
        "wrong": wrong,
        "before": text[:at],
        "at": word,
        "behind": text[at + len(word) :],
        "better": place.link(wrong.suggestion) if wrong.suggestion else "",
        **_help(place, {}),
    }


def _bar(request: PageRequest, asked: Asked) -> dict[str, Any]:
    """What is around the rows of a list."""
    place, query = asked.place, asked.query
    choices = logs.choices(request.actor, api=place.fixed[1] if place.fixed else None)
    fixed, same_step = _fixed(query), chips.same_step(query)
    return {
        "place": place,
        "tabs": tabs(place, query.text),
        "text": query.text,
        "query": query,
        "sentence": describe.describe(query),
        "chips": [(chip, place.link(chip.without)) for chip in chips.chips(query)],
        "hints": chips.hints(query),
        "same_step": place.link(same_step) if same_step else "",
        "fixed": place.link(fixed) if fixed else "",
        "facets": facets(query, choices, place.link),
        "no_data": not choices.get("status"),
        "base_url": request.build_absolute_uri("/")[:-1],
        "needs_key": settings.REQUIRE_LOGIN,
        **_help(place, choices),
    }


def paging(asked: Asked, kind: ids.Kind, keys: Sequence[int], *, newer: bool, older: bool) -> dict[str, str]:
    """Links to the pages beside that of these rows, newest first."""
    link, text = asked.place.link, asked.query.text
    if not keys:
        return {"newer": link(text) if newer else "", "older": ""}
    first, last = ids.public(kind, keys[0]), ids.public(kind, keys[-1])
    return {
        "newer": link(text, before=first) if newer else "",
        "older": link(text, after=last) if older else "",
    }


def live(asked: Asked, cursor: int, *, newest: int | None, at_top: bool) -> dict[str, Any]:
    """What the open page subscribes with. The query has its times written out: they are those of
    this page, whatever the clock and the zone of whoever reads the query next."""
    wanted = _fixed(asked.narrowed) or asked.narrowed.text
    return {
        "live_query": wanted,
        "cursor": cursor,
        "at_top": at_top,
        "newest": ids.public(ids.Kind.TURN, newest) if newest is not None else "",
        "first_page": asked.place.link(asked.query.text),
        "sums_url": f"/logs/sums/?{urlencode({'q': wanted})}",
    }


def _fixed(query: Query) -> str:
    """The query with its relative times written out; empty where there are none, or no room."""
    try:
        text = writer.absolute(query)
    except QuerySyntax:
        return ""
    return text if text != query.text else ""


def _help(place: Place, choices: Mapping[str, Sequence[tuple[str, int]]]) -> dict[str, Any]:
    return {
        "examples": [(each, place.link(each)) for each in EXAMPLES],
        "fields": FIELDS.values(),
        "suggestions": suggestions(choices),
    }
