"""Render the pages of the logs: the rows of a level that the query in the URL selects, and links to narrow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation

from agents.base import ids
from agents.base.errors import NotFound, QuerySyntax, Unavailable
from agents.base.store import feed_cursor
from agents.logs.pages import amount_bounds, numbers, saved_views, suggest
from agents.logs.pages import rows as log_rows
from agents.logs.pages.columns import columns, hidden_positions
from agents.logs.pages.lists import LOGS, RESPONSES, SESSIONS, STEPS, ListTab, tabs, url_of_id
from agents.logs.pages.numbers import zone_of
from agents.logs.pages.time_range import time_range
from agents.logs.schemas.row_ids import cursor_of, key_of, position_of, public
from agents.logs.schemas.sorting import NEWEST_FIRST, SortPosition
from agents.logs.store import listing, rows
from agents.query import chips, describe, parser, writer
from agents.query.fields import FIELDS
from agents.query.tree import Query
from agents.uikit.access import PageRequest, page
from agents.uikit.kept_numbers import come_later
from agents.uikit.links import at, base_url

PAGE = 50
EXAMPLES = {
    "turn": ("status:failed", "duration:>10s", "has:tools", "is:live", "started:>-24h", '"refund policy"'),
    "session": ("last(turn)(status:failed)", "count(turn)>3", "tokens:>10k", "is:live", "started:>-24h"),
    "step": ("status:failed", "type:tool", "has:violation", "duration:>5s", "finish:out_of_tokens"),
    "response": ("status:failed", "duration:>10s", "has:tools", "is:waiting", "started:>-24h"),
}


@page("read")
def turn_list(request: PageRequest) -> HttpResponse:
    return list_page(request, LOGS)


@page("read")
def session_list(request: PageRequest) -> HttpResponse:
    return list_page(request, SESSIONS)


@page("read")
def step_list(request: PageRequest) -> HttpResponse:
    return list_page(request, STEPS)


@page("read")
def response_list(request: PageRequest) -> HttpResponse:
    return list_page(request, RESPONSES)


@page("read")
def to_step(request: PageRequest, step_id: str) -> HttpResponse:
    """Redirect from a step's id to the step on the page of its turn."""
    key = ids.parse(ids.Kind.STEP, step_id)
    step_rows = rows.of(
        "step", list(listing.visible("step", request.actor).filter(pk=key).values_list("pk", flat=True))
    )
    if not step_rows:
        raise NotFound(f"Step '{step_id[:80]}' not found.")
    return redirect(log_rows.step_url(step_rows[0]))


@dataclass(frozen=True, slots=True)
class ListParams:
    """The parameters of a list page."""

    tab: ListTab
    query: Query
    after: SortPosition | None
    before: SortPosition | None


def list_page(request: PageRequest, tab: ListTab) -> HttpResponse:
    """Render a list under the query and in the order of the URL; a query that is only an id redirects to that
    object."""
    tab = numbers.in_order(request, tab)
    text = request.GET.get("q", "").strip()
    if target := url_of_id(text):
        return redirect(target)
    try:
        return _list_of(request, tab, text)
    except QuerySyntax as error:  # it cannot be read, or SQLite finds it nested too deeply
        return render(request, "logs/list.html", _query_error(tab, text, error), status=400)


def _list_of(request: PageRequest, tab: ListTab, text: str) -> HttpResponse:
    """Render the list of a query. Raises QuerySyntax."""
    query = parser.read(text, now_us=ids.now_us(), zone=zone_of(request), level=tab.level)
    ranged = _with_range(request, query)
    if ranged is None:
        ranged = amount_bounds.narrowed(query, request.GET)
    if ranged is not None:
        return redirect(tab.link(ranged))
    params = ListParams(tab, query, *(_position(request, tab, name) for name in ("after", "before")))
    try:
        return _page(request, params)
    except Unavailable as error:
        context = {**_bar(request, params), "too_long": error.message}
        return render(request, "logs/list.html", context, status=503)


def _page(request: PageRequest, params: ListParams) -> HttpResponse:
    tab, query = params.tab, params.query
    # before the rows are read: what changes in between is then sent again rather than missed
    cursor = feed_cursor.newest(request.actor)
    keys_page = listing.sorted_page(
        request.actor, query, tab.order, after=params.after, before=params.before, limit=PAGE
    )
    if params.before is not None and not keys_page.has_before:
        return redirect(tab.link(query.text))  # the first page, full and, where it is the newest, live
    rendered = log_rows.rows(tab.level, rows.of(tab.level, keys_page.keys), query)
    context = {
        **_bar(request, params),
        "rows": log_rows.with_boxes(rendered) if "select" in request.GET else rendered,
        "no_data": not keys_page.keys and not listing.visible(tab.level, request.actor).exists(),
        "searched_to": keys_page.searched_to_us,
        **saved_views.menu(request, tab.level, query.text),
        "can_run": "run" in request.actor.actions,
        "select_mode": "select" in request.GET,
        "export_url": at(f"/logs/export/?{urlencode({'level': tab.plural, 'q': query.text, **tab.sort_parameter})}"),
        "select_url": tab.link(query.text, select="1"),
        **_paging(params, keys_page),
        **_subscription(params, keys_page, cursor),
    }
    return render(request, "logs/list.html", context)


def _with_range(request: PageRequest, query: Query) -> str | None:
    """Narrow the query to the range that the form of times sent; None where it sent none."""
    first, last = (request.GET.get(name, "").strip() for name in ("from", "to"))
    if not first and not last:
        return None
    return chips.with_term(query, chips.term_of("started", f"{first}..{last}")).text


def _position(request: PageRequest, tab: ListTab, name: str) -> SortPosition | None:
    cursor = request.GET.get(name)
    if cursor is None:
        return None
    if tab.order.is_by_time:
        key = key_of(tab.level, cursor)
        position = None if key is None else SortPosition(None, key)
    else:
        position = position_of(tab.level, cursor)
    if position is None:
        raise NotFound(f"There is no {tab.level} '{cursor[:80]}' to page from.")
    return position


def _query_error(tab: ListTab, text: str, error: QuerySyntax) -> dict[str, Any]:
    """Return the context for a query with an error: the bar, with the error at its position."""
    position = min(error.position, len(text))
    word = text[position:].split(" ", 1)[0] if text[position:].strip() else ""
    return {
        "place": tab,
        "tabs": tabs(tab, ""),
        "text": text,
        "query": None,
        "chips": (),
        "rows": None,
        "too_long": "",
        "sentence": "",
        "suggestions": suggest.fields(),
        "wrong": error,
        "before": text[:position],
        "at": word,
        "behind": text[position + len(word) :],
        "better": tab.link(error.suggestion) if error.suggestion else "",
        "examples": _examples(tab),
        "fields": FIELDS.values(),
    }


def _examples(tab: ListTab) -> list[tuple[str, str]]:
    return [(text, tab.link(text)) for text in EXAMPLES[tab.level]]


def _bar(request: PageRequest, params: ListParams) -> dict[str, Any]:
    """Return the context of everything but the rows: bar, chips, columns, numbers."""
    tab, query = params.tab, params.query
    absolute, combined = _absolute_text(query), chips.same_row(query)
    list_columns = columns(request, tab, query.text)
    return {
        "place": tab,
        "tabs": tabs(tab, query.text),
        "text": query.text,
        "query": query,
        "wrong": None,
        "rows": None,
        "too_long": "",
        "sentence": describe.describe(query, language=translation),
        "chips": [(chip, tab.link(chip.without)) for chip in chips.chips(query, translation)],
        "hints": chips.hints(query, translation),
        "same_row": tab.link(combined.text) if combined else "",
        "fixed": tab.link(absolute) if absolute else "",
        "time_range": time_range(query, tab.link, ZoneInfo(zone_of(request))),
        "columns": list_columns,
        "hidden": hidden_positions(list_columns),
        "base_url": base_url(request),
        "needs_key": settings.REQUIRE_LOGIN,
        "examples": _examples(tab),
        "fields": FIELDS.values(),
        "suggestions": suggest.fields(),
        "groups_url": at(f"/logs/groups/?{urlencode({'level': tab.level, 'q': query.text})}"),
        # times stay as they are written: the links of what comes late lead to queries that go on with the clock
        "numbers_url": at(f"/logs/numbers/?{urlencode({'level': tab.level, 'q': query.text, **tab.sort_parameter})}"),
        **_numbers(request, params),
    }


def _numbers(request: PageRequest, params: ListParams) -> dict[str, Any]:
    if come_later(request, params.tab.level):
        return numbers.pending_numbers(request, params.tab, params.query)
    return numbers.kept_list_numbers(request, params.tab, params.query)


def _paging(params: ListParams, page: listing.SortedPage) -> dict[str, str]:
    """Return the links to the page before, which in the usual order has newer rows, and to the one behind."""
    tab, text = params.tab, params.query.text
    first, last = page.first, page.last
    newer = tab.link(text, before=cursor_of(tab.level, tab.order, first)) if first else tab.link(text)
    older = tab.link(text, after=cursor_of(tab.level, tab.order, last)) if last else ""
    return {"newer": newer if page.has_before else "", "older": older if page.has_after else ""}


def _subscription(params: ListParams, page: listing.SortedPage, cursor: str) -> dict[str, Any]:
    """Return the parameters of the page's live subscription. The query has absolute times: they stay those of
    this page, whatever the clock and the zone of the server process that parses it next. New rows have their place at
    the top of the newest ones alone; any other page counts them."""
    tab = params.tab
    return {
        "live_query": _absolute_text(params.query) or params.query.text,
        "cursor": cursor,
        "is_newest_first": tab.order == NEWEST_FIRST,
        "at_top": tab.order == NEWEST_FIRST and not page.has_before,
        "newest": public(tab.level, max(page.keys)) if page.keys else "",
        "first_page": tab.link(params.query.text),
    }


def _absolute_text(query: Query) -> str:
    """Return the query with its relative times written out; empty where it has none, or gets too long."""
    try:
        text = writer.absolute(query)
    except QuerySyntax:
        return ""
    return text if text != query.text else ""
