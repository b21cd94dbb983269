"""The page that helps to connect an agent that runs elsewhere: lines to copy, and whether a turn has arrived."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, feed_cursor
from agents.logs.pages.lists import LOGS
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, turn_log
from agents.query.parser import parse
from agents.telemetry.pages.connect_guides import ServerAddress, guides
from agents.telemetry.store.external import unmatched
from agents.telemetry.store.external.refused_reports import refusals
from agents.uikit import sources
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at, base_url

KEY_PLACEHOLDER = "ask_…"
"""Shown in the place of a key."""
MAX_CHANGES = 5_000
"""Changes that are searched for the first turn."""


@page("read")
def connect(request: PageRequest) -> HttpResponse:
    """Render the page. ``?with=`` chooses a guide; ``?since=`` is the feed cursor after which the first turn is
    waited for, the newest one when the page is opened."""
    since = _since(request)
    arrived = _first_turn(request.actor, feed_cursor.seq_of(request.actor, since))
    ways = guides(_server(request))
    context = {
        "ways": ways,
        "way": next((way for way in ways if way.name == request.GET.get("with")), ways[0]),
        "since": since,
        "query": sources.EXTERNAL_QUERY,
        "arrived": arrived,
        "others": LOGS.link(sources.EXTERNAL_QUERY) if _has_external_turns(request.actor) else "",
        "needs_key": settings.REQUIRE_LOGIN,
        "unmatched": unmatched.count(request.actor),
        "refused": refusals.visible_to(request.actor),
    }
    return render(request, "telemetry/connect.html", context)


def _since(request: PageRequest) -> str:
    cursor = request.GET.get("since", "")
    try:
        feed_cursor.seq_of(request.actor, cursor)
    except InvalidRequest:
        return feed_cursor.newest(request.actor)
    return cursor


def _server(request: PageRequest) -> ServerAddress:
    base = base_url(request)
    return ServerAddress(base, KEY_PLACEHOLDER if settings.REQUIRE_LOGIN else "", _grpc_url(base))


def _grpc_url(base: str) -> str:
    """Return the URL of OTLP over gRPC, on the host of the base URL; '' where it is not spoken."""
    if not settings.OTLP_GRPC_PORT:
        return ""
    host = urlsplit(base).hostname or ""
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.OTLP_GRPC_PORT}"


@dataclass(frozen=True, slots=True)
class FirstTurn:
    """The first turn that arrived. ``is_alone``: its sender named no session."""

    url: str
    row: TurnRow
    is_alone: bool


def _first_turn(actor: Actor, since: int) -> FirstTurn | None:
    query = parse(sources.EXTERNAL_QUERY, now_us=ids.now_us(), level="turn")
    keys = listing.accepted(actor, query, _changed_turns(since))
    rows = turn_log.turn_rows(actor, list(keys))
    if not rows:
        return None
    row = rows[-1]
    return FirstTurn(at(f"/turns/{ids.public(ids.Kind.TURN, row.id)}/"), row, not row.session_name)


def _changed_turns(since: int) -> list[int]:
    """The turns that changed after a change, in order."""
    turns: dict[int, None] = {}
    last, examined = since, 0
    while examined < MAX_CHANGES and (changed := changes.after(last)) is not None and changed.records:
        turns.update((key, None) for kind, key in changed.records if kind == ChangeKind.TURN)
        last, examined = changed.seq, examined + len(changed.records)
    return list(turns)


def _has_external_turns(actor: Actor) -> bool:
    """Whether the actor may see any external turn."""
    query = parse(sources.EXTERNAL_QUERY, now_us=ids.now_us(), level="turn")
    return bool(listing.page(actor, query, limit=1).keys)
