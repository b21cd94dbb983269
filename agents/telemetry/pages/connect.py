"""The page on which an agent that runs elsewhere is connected: the lines to copy, and whether it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, feed_cursor
from agents.logs.pages.lists import LOGS
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, logs
from agents.query.parser import parse
from agents.telemetry.pages.connect_lines import Here
from agents.telemetry.pages.connect_ways import WAYS, Way
from agents.telemetry.store.external import unmatched
from agents.uikit import sources
from agents.uikit.access import PageRequest, page

KEY = "ask_…"
"""Stands where a key belongs."""
MOST = 5_000
"""Changes that are looked through for the first turn."""


@page("read")
def connect(request: PageRequest) -> HttpResponse:
    """``?with=`` chooses a way; ``?since=`` is the place behind which the first turn is waited for, the newest
    one when the page is opened."""
    since = _since(request)
    arrived = _arrived(request.actor, feed_cursor.number(request.actor, since))
    chosen = next((way for way in WAYS if way.name == request.GET.get("with")), WAYS[0])
    context = {
        "ways": [(way.name, _(way.title), way is chosen) for way in WAYS],
        "way": _shown(chosen, _here(request)),
        "since": since,
        "query": sources.QUERY,
        "arrived": arrived,
        "others": LOGS.link(sources.QUERY) if _is_any(request.actor) else "",
        "needs_key": settings.REQUIRE_LOGIN,
        "import_url": _import_url(),
        "unmatched": unmatched.count(request.actor),
    }
    return render(request, "agents/connect.html", context)


def _since(request: PageRequest) -> str:
    given = request.GET.get("since", "")
    try:
        feed_cursor.number(request.actor, given)
    except InvalidRequest:
        return feed_cursor.newest(request.actor)
    return given


def _here(request: PageRequest) -> Here:
    return Here(request.build_absolute_uri("/")[:-1], KEY if settings.REQUIRE_LOGIN else "")


def _shown(way: Way, here: Here) -> dict[str, Any]:
    return {
        "name": way.name,
        "title": _(way.title),
        "about": _(way.about),
        "snippets": [(_(each.title), each.code) for each in way.snippets(here)],
        "session": _(way.session) if way.session else "",
        "hints": [_(hint) for hint in way.hints],
    }


def _import_url() -> str:
    """The page to upload files on, where there is one."""
    try:
        return reverse("imports")
    except NoReverseMatch:
        return ""


@dataclass(frozen=True, slots=True)
class Arrived:
    """The first turn that came. ``is_alone``: its sender named no session."""

    url: str
    row: TurnRow
    is_alone: bool


def _arrived(actor: Actor, since: int) -> Arrived | None:
    query = parse(sources.QUERY, now_us=ids.now_us(), level="turn")
    keys = listing.accepted(actor, query, _changed(since))
    rows = logs.turn_rows(actor, list(keys))
    if not rows:
        return None
    row = rows[-1]
    return Arrived(f"/turns/{ids.public(ids.Kind.TURN, row.id)}/", row, not row.session_name)


def _changed(since: int) -> list[int]:
    """Turns that changed behind a change, in order."""
    found: dict[int, None] = {}
    seen, looked = since, 0
    while looked < MOST and (changed := changes.after(seen)) is not None and changed.records:
        found.update((key, None) for kind, key in changed.records if kind == ChangeKind.TURN)
        seen, looked = changed.seq, looked + len(changed.records)
    return list(found)


def _is_any(actor: Actor) -> bool:
    """Whether there is anything from elsewhere yet."""
    query = parse(sources.QUERY, now_us=ids.now_us(), level="turn")
    return bool(listing.page(actor, query, limit=1).keys)
