"""The logs list: a query in the URL, the turns it selects, what they sum to, and how to narrow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from agents.ui.facets import facets, link, suggestions

PAGE = 50

EXAMPLES = ("status:failed", "duration:>10s", "has:tools", "is:live", "started:>-24h", '"refund policy"')


@page("read")
def home(request: PageRequest) -> HttpResponse:
    return redirect("/logs/")


@page("read")
def log_list(request: PageRequest) -> HttpResponse:
    text = request.GET.get("q", "").strip()
    try:
        query = _query(request, text)
        ranged = _with_range(request, query)
    except QuerySyntax as wrong:
        return render(request, "agents/log_list.html", _refused(text, wrong), status=400)
    if ranged is not None:
        return redirect(link(ranged))
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = changes.latest()
    found = logs.turns_page(
        request.actor, query, after=_key(request, "after"), before=_key(request, "before"), limit=PAGE
    )
    if "before" in request.GET and not found.has_newer:
        return redirect(link(query.text))  # the newest page, full and live
    return render(request, "agents/log_list.html", _page(request, query, found, cursor))


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


def _refused(text: str, wrong: QuerySyntax) -> dict[str, Any]:
    """The page of a query that cannot be read: the bar, and what is wrong where."""
    at = min(wrong.position, len(text))
    word = text[at:].split(" ", 1)[0] if text[at:].strip() else ""
    return {
        "text": text,
        "wrong": wrong,
        "before": text[:at],
        "at": word,
        "behind": text[at + len(word) :],
        "better": link(wrong.suggestion) if wrong.suggestion else "",
        **_help({}),
    }


def _page(request: PageRequest, query: Query, found: logs.TurnPage, cursor: int) -> dict[str, Any]:
    choices, fixed, same_step = logs.choices(request.actor), _fixed(query), chips.same_step(query)
    return {
        "text": query.text,
        "query": query,
        "sentence": describe.describe(query),
        "chips": [(chip, link(chip.without)) for chip in chips.chips(query)],
        "hints": chips.hints(query),
        "same_step": link(same_step) if same_step else "",
        "fixed": link(fixed) if fixed else "",
        "facets": facets(query, choices),
        "sums": logs.summary(request.actor, query),
        "rows": [fragments.turn_row(row, query) for row in found.rows],
        "no_data": not choices.get("status"),
        "base_url": request.build_absolute_uri("/")[:-1],
        "needs_key": settings.REQUIRE_LOGIN,
        **_paging(query, found),
        **_live(fixed or query.text, query, found, cursor),
        **_help(choices),
    }


def _paging(query: Query, found: logs.TurnPage) -> dict[str, str]:
    if not found.rows:
        return {"newer": link(query.text) if found.has_newer else "", "older": ""}
    first, last = (ids.public(ids.Kind.TURN, row.id) for row in (found.rows[0], found.rows[-1]))
    return {
        "newer": link(query.text, before=first) if found.has_newer else "",
        "older": link(query.text, after=last) if found.has_older else "",
    }


def _live(wanted: str, query: Query, found: logs.TurnPage, cursor: int) -> dict[str, Any]:
    """What the open page subscribes with. ``wanted`` has its times written out: they are those of
    this page, whatever the clock and the zone of whoever reads the query next."""
    return {
        "live_query": wanted,
        "cursor": cursor,
        "at_top": not found.has_newer,
        "newest": ids.public(ids.Kind.TURN, found.rows[0].id) if found.rows else "",
        "first_page": link(query.text),
        "sums_url": f"/logs/sums/?{urlencode({'q': wanted})}",
    }


def _fixed(query: Query) -> str:
    """The query with its relative times written out; empty where there are none, or no room."""
    try:
        text = writer.absolute(query)
    except QuerySyntax:
        return ""
    return text if text != query.text else ""


def _help(choices: Mapping[str, Sequence[tuple[str, int]]]) -> dict[str, Any]:
    return {
        "examples": [(each, link(each)) for each in EXAMPLES],
        "fields": FIELDS.values(),
        "suggestions": suggestions(choices),
    }
