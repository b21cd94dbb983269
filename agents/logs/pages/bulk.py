"""What is done to the chosen rows of a list, or to all that its query accepts: tag, delete, export, compare.

What cannot be taken back, and whatever is done to all, is asked for once more on a page that says how many
rows it is about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import connections
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotAllowed
from agents.logs.pages.lists import OF, Place
from agents.logs.pages.numbers import zone_of
from agents.logs.store import bulk, listing, numbers, rows
from agents.logs.store.bulk import Act, Outcome
from agents.logs.wire.export import TYPES, encoder, read_format
from agents.loop.current_service import service
from agents.query import parser
from agents.query.describe import describe
from agents.query.tree import Query
from agents.record.schemas.tags import TagNames
from agents.uikit import format
from agents.uikit.access import PageRequest, page

MOST = 1_000
"""Rows that can be chosen one by one."""
AT_ONCE = 1_000
"""Rows that are worked through while their request waits; more are left to a task of the server."""
_KINDS = {"session": ids.Kind.SESSION, "turn": ids.Kind.TURN, "step": ids.Kind.STEP}
_NEED_RUN = frozenset({"tag", "untag", "delete"})
_ACTIONS = frozenset({*_NEED_RUN, "export", "compare"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done to which rows: to those of ``keys``, or to all of ``query``."""

    actor: Actor
    action: str
    place: Place
    query: Query
    keys: tuple[int, ...]
    public: tuple[str, ...]
    everything: bool
    tag: str

    @property
    def back(self) -> str:
        return self.place.link(self.query.text)


@page("read")
@require_POST
def act(request: PageRequest) -> HttpResponseBase:
    asked = _asked(request)
    if asked.action in _NEED_RUN and "run" not in asked.actor.actions:
        raise NotAllowed(_("Your account may not change what is in the log."), code="missing_action")
    if asked.action == "compare":
        return _compare(asked)
    if asked.action == "export":
        return _export(request, asked)
    work = _work(asked)
    count = numbers.stats(asked.actor, asked.query).count if asked.everything else len(asked.keys)
    if "sure" not in request.POST and (asked.everything or asked.action == "delete"):
        return _confirm(request, asked, count)
    if asked.everything and count > AT_ONCE:
        return _later(request, asked, work, count)
    if asked.everything:
        outcome = bulk.to_all(asked.actor, asked.query, work)
    else:
        outcome = bulk.to_keys(asked.actor, asked.place.level, asked.keys, work)
    _tell(request, asked.action, outcome)
    return redirect(asked.back)


def _asked(request: PageRequest) -> Asked:
    given = request.POST
    place, action = OF.get(given.get("level", "")), given.get("action", "")  # type: ignore[call-overload]  # may be none
    if place is None:
        raise InvalidRequest(f"level: say one of {', '.join(OF)}.", param="level")
    if action not in _ACTIONS:
        raise InvalidRequest(_("Say what is to be done."), param="action")
    query = parser.read(given.get("q", ""), now_us=ids.now_us(), zone=zone_of(request), level=place.level)
    everything, public = given.get("all") == "true", tuple(given.getlist("ids"))
    if not everything and not 1 <= len(public) <= MOST:
        raise InvalidRequest(_("Choose some rows first, at most 1,000 one by one."), param="ids")
    keys = () if everything else tuple(_key(place, each) for each in public)
    return Asked(request.actor, action, place, query, keys, public, everything, given.get("tag", ""))


def _key(place: Place, public_id: str) -> int:
    if place.level == "response":
        key = ids.parse_openai(ids.Kind.RESPONSE, public_id)
    else:
        key = ids.parse(_KINDS[place.level], public_id)
    if key is None:
        raise InvalidRequest(f"ids: '{public_id[:80]}' is not the id of a {place.level}.", param="ids")
    return key


def _work(asked: Asked) -> Act:
    if asked.action == "delete":
        if asked.place.level not in ("turn", "session"):
            raise InvalidRequest(_("Only turns and sessions can be deleted."), param="level")
        return bulk.delete
    try:
        names = TagNames(tags=[part for part in asked.tag.split(",") if part.strip()]).tags
    except ValidationError as error:
        raise InvalidRequest(_("Write a tag of at most 100 characters."), param="tag") from error
    return bulk.tagging(add=names) if asked.action == "tag" else bulk.tagging(remove=names)


# --------------------------------------------------------------------------------------- answering


def _confirm(request: PageRequest, asked: Asked, count: int) -> HttpResponse:
    context = {"asked": asked, "count": count, "sentence": describe(asked.query, asked.place.level)}
    return render(request, "logs/bulk_action.html", context)


def _tell(request: PageRequest, action: str, outcome: Outcome) -> None:
    if action == "delete":
        said = ngettext("%(num)s row is deleted.", "%(num)s rows are deleted.", outcome.done)
    else:
        said = ngettext("The tags of %(num)s row are changed.", "The tags of %(num)s rows are changed.", outcome.done)
    messages.success(request, said % {"num": format.integer(outcome.done)})
    if outcome.running:
        words = ngettext("%(num)s row runs: left alone.", "%(num)s rows run: left alone.", outcome.running)
        messages.warning(request, words % {"num": format.integer(outcome.running)})
    if outcome.closed:
        words = ngettext("%(num)s row is not yours to change.", "%(num)s rows are not yours to change.", outcome.closed)
        messages.warning(request, words % {"num": format.integer(outcome.closed)})


def _later(request: PageRequest, asked: Asked, work: Act, count: int) -> HttpResponse:
    service().runner.apart(partial(_apart, partial(bulk.to_all, asked.actor, asked.query, work)))
    words = _("%(num)s rows are being worked through, newest first; the list shows it as it goes.")
    messages.info(request, words % {"num": format.integer(count)})
    return redirect(asked.back)


async def _apart(job: partial[Outcome]) -> None:
    def run() -> None:
        try:
            job()
        finally:
            connections.close_all()

    await asyncio.to_thread(run)


def _compare(asked: Asked) -> HttpResponse:
    if asked.place.level != "turn" or asked.everything or len(asked.public) != 2:
        raise InvalidRequest(_("Choose exactly two turns to compare them."), param="ids")
    older, newer = sorted(asked.public)
    return redirect(f"/turns/compare/?{urlencode({'a': older, 'b': newer})}")


def _export(request: PageRequest, asked: Asked) -> HttpResponseBase:
    form = read_format(request.POST.get("format", ""))
    if asked.everything:
        given = {"level": asked.place.level, "q": asked.query.text, "format": form}
        return redirect(f"/logs/export/?{urlencode(given)}")
    made = encoder(form, asked.place.level)
    body = made.head + made.encode(rows.of(asked.place.level, _seen(asked.actor, asked.place, asked.keys)))
    headers = {"Content-Disposition": f'attachment; filename="{asked.place.level}s-chosen.{form}"'}
    return HttpResponse(body, content_type=TYPES[form], headers=headers)


def _seen(actor: Actor, place: Place, keys: Sequence[int]) -> list[Any]:
    """Those of the chosen rows that the actor may see, newest first."""
    found = listing.visible(place.level, actor).filter(pk__in=list(keys))
    return list(found.order_by("-pk").values_list("pk", flat=True))
