"""The logs: a query in the URL, the rows of a level that it selects, and how to narrow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents.base import ids
from agents.base.errors import NotFound, QuerySyntax, Unavailable
from agents.base.store import feed_cursor
from agents.logs.pages import numbers, saved_views
from agents.logs.pages import rows as log_rows
from agents.logs.pages.columns import columns, hidden
from agents.logs.pages.lists import LOGS, RESPONSES, SESSIONS, STEPS, Place, page_of_id, tabs
from agents.logs.pages.numbers import zone_of
from agents.logs.store import listing, rows
from agents.query import chips, describe, parser, writer
from agents.query.fields import FIELDS
from agents.query.tree import Query
from agents.uikit.access import PageRequest, page

PAGE = 50
_KINDS = {"session": ids.Kind.SESSION, "turn": ids.Kind.TURN, "response": ids.Kind.RESPONSE, "step": ids.Kind.STEP}

EXAMPLES = {
    "turn": ("status:failed", "duration:>10s", "has:tools", "is:live", "started:>-24h", '"refund policy"'),
    "session": ("last(turn)(status:failed)", "count(turn)>3", "tokens:>10k", "is:live", "started:>-24h"),
    "step": ("status:failed", "type:tool", "has:violation", "duration:>5s", "finish:out_of_tokens"),
    "response": ("status:failed", "duration:>10s", "has:tools", "is:waiting", "started:>-24h"),
}


@page("read")
def turn_list(request: PageRequest) -> HttpResponse:
    return listed(request, LOGS)


@page("read")
def session_list(request: PageRequest) -> HttpResponse:
    return listed(request, SESSIONS)


@page("read")
def step_list(request: PageRequest) -> HttpResponse:
    return listed(request, STEPS)


@page("read")
def response_list(request: PageRequest) -> HttpResponse:
    return listed(request, RESPONSES)


@page("read")
def to_step(request: PageRequest, step_id: str) -> HttpResponse:
    """Leads from a step's id to its place on the page of its turn."""
    key = ids.parse(ids.Kind.STEP, step_id)
    found = rows.of("step", list(listing.visible("step", request.actor).filter(pk=key).values_list("pk", flat=True)))
    if not found:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    return redirect(log_rows.step_url(found[0]))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list is asked for."""

    place: Place
    query: Query
    after: int | None
    before: int | None


def listed(request: PageRequest, place: Place) -> HttpResponse:
    """The page of a list under the query of the URL; a query that is only an id leads to what it names."""
    text = request.GET.get("q", "").strip()
    if there := page_of_id(text):
        return redirect(there)
    try:
        query = parser.read(text, now_us=ids.now_us(), zone=zone_of(request), level=place.level)
        ranged = _with_range(request, query)
    except QuerySyntax as wrong:
        return render(request, "logs/list.html", _refused(place, text, wrong), status=400)
    if ranged is not None:
        return redirect(place.link(ranged))
    asked = Asked(place, query, *(_key(request, place, name) for name in ("after", "before")))
    try:
        return _page(request, asked)
    except Unavailable as error:
        shown = {**_bar(request, asked), "too_long": error.message}
        return render(request, "logs/list.html", shown, status=503)


def _page(request: PageRequest, asked: Asked) -> HttpResponse:
    place, query = asked.place, asked.query
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = feed_cursor.newest(request.actor)
    found = listing.page(request.actor, query, after=asked.after, before=asked.before, limit=PAGE)
    if asked.before is not None and not found.has_newer:
        return redirect(place.link(query.text))  # the newest page, full and live
    made = log_rows.rows(place.level, rows.of(place.level, found.keys), query)
    shown = {
        **_bar(request, asked),
        "rows": log_rows.with_boxes(made) if "select" in request.GET else made,
        "no_data": not found.keys and not listing.visible(place.level, request.actor).exists(),
        "searched_to": found.searched_to_us,
        **saved_views.menu(request, place.level, query.text),
        "can_run": "run" in request.actor.actions,
        "select_mode": "select" in request.GET,
        "export_url": f"/logs/export/?{urlencode({'level': place.plural, 'q': query.text})}",
        "select_url": place.link(query.text, select="1"),
        **_paging(asked, found),
        **_live(asked, found, cursor),
    }
    return render(request, "logs/list.html", shown)


def _with_range(request: PageRequest, query: Query) -> str | None:
    """The query narrowed to the range that the form of times sent; None where it sent none."""
    first, last = (request.GET.get(name, "").strip() for name in ("from", "to"))
    return chips.with_term(query.text, "started", f"{first}..{last}") if first or last else None


def _key(request: PageRequest, place: Place, name: str) -> int | None:
    public_id = request.GET.get(name)
    if public_id is None:
        return None
    kind = _KINDS[place.level]
    key = ids.parse_openai(kind, public_id) if place.level == "response" else ids.parse(kind, public_id)
    if key is None:
        raise NotFound(f"There is no {place.level} '{public_id[:80]}' to page from.")
    return key


def _public(place: Place, key: int) -> str:
    kind = _KINDS[place.level]
    return ids.openai(kind, key) if place.level == "response" else ids.public(kind, key)


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
        "examples": _examples(place),
        "fields": FIELDS.values(),
    }


def _examples(place: Place) -> list[tuple[str, str]]:
    return [(each, place.link(each)) for each in EXAMPLES[place.level]]


def _bar(request: PageRequest, asked: Asked) -> dict[str, Any]:
    """What is around the rows of a list."""
    place, query = asked.place, asked.query
    fixed, together = _fixed(query), chips.same_row(query)
    shown_columns = columns(request, place.level)
    return {
        "place": place,
        "tabs": tabs(place, query.text),
        "text": query.text,
        "query": query,
        "sentence": describe.describe(query),
        "chips": [(chip, place.link(chip.without)) for chip in chips.chips(query)],
        "hints": chips.hints(query),
        "same_row": place.link(together.text) if together else "",
        "fixed": place.link(fixed) if fixed else "",
        "columns": shown_columns,
        "hidden": hidden(shown_columns),
        "base_url": request.build_absolute_uri("/")[:-1],
        "needs_key": settings.REQUIRE_LOGIN,
        "examples": _examples(place),
        "fields": FIELDS.values(),
        "numbers_url": f"/logs/numbers/?{urlencode({'level': place.level, 'q': _fixed(query) or query.text})}",
        **_numbers(request, asked),
    }


def _numbers(request: PageRequest, asked: Asked) -> dict[str, Any]:
    """A browser with JavaScript has told its zone by a cookie, and fetches the numbers behind the rows."""
    if "tz" in request.COOKIES:
        return numbers.later(asked.place, asked.query)
    return numbers.around(request.actor, asked.place, asked.query, zone_of(request))


def _paging(asked: Asked, found: listing.Page) -> dict[str, str]:
    """Links to the pages beside that of these rows, newest first."""
    link, text = asked.place.link, asked.query.text
    last = found.searched_to if found.searched_to is not None else found.keys[-1] if found.keys else None
    newer = link(text, before=_public(asked.place, found.keys[0])) if found.keys else link(text)
    return {
        "newer": newer if found.has_newer else "",
        "older": link(text, after=_public(asked.place, last)) if found.has_older and last is not None else "",
    }


def _live(asked: Asked, found: listing.Page, cursor: str) -> dict[str, Any]:
    """What the open page subscribes with. The query has its times written out: they are those of
    this page, whatever the clock and the zone of whoever reads the query next."""
    return {
        "live_query": _fixed(asked.query) or asked.query.text,
        "cursor": cursor,
        "at_top": not found.has_newer,
        "newest": _public(asked.place, found.keys[0]) if found.keys else "",
        "first_page": asked.place.link(asked.query.text),
    }


def _fixed(query: Query) -> str:
    """The query with its relative times written out; empty where there are none, or no room."""
    try:
        text = writer.absolute(query)
    except QuerySyntax:
        return ""
    return text if text != query.text else ""
