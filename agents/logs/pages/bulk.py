"""Handle bulk actions on the chosen rows of a list, or on all that its query accepts: tag, delete, export, compare.

Actions that cannot be undone, and all actions on a full query, need a confirmation on a page with the number of
rows.
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
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotAllowed
from agents.base.subjects import is_installed
from agents.logs.pages.lists import LIST_OF_LEVEL, ListTab
from agents.logs.pages.numbers import zone_of
from agents.logs.schemas.row_ids import key_of
from agents.logs.store import bulk, listing, numbers, rows
from agents.logs.store.bulk import BulkResult, RowAction
from agents.logs.wire.export import TYPES, encoder, read_format
from agents.loop.current_service import service
from agents.query import parser
from agents.query.describe import describe
from agents.query.tree import Query
from agents.record.schemas.tags import TagNames
from agents.uikit import format
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at

MAX_CHOSEN = 1_000
"""Rows that can be chosen one by one."""
MAX_IN_REQUEST = 1_000
"""Rows that are changed while the request waits; more are left to a background task of the server."""
_NEED_RUN = frozenset({"tag", "untag", "delete"})
_ACTIONS = frozenset({*_NEED_RUN, "export", "compare"})


@dataclass(frozen=True, slots=True)
class BulkParams:
    """The parameters of a bulk action on the rows of ``keys``, or with ``everything`` on all rows of ``query``."""

    actor: Actor
    action: str
    tab: ListTab
    query: Query
    keys: tuple[int, ...]
    public: tuple[str, ...]
    everything: bool
    tag: str

    @property
    def back(self) -> str:
        return self.tab.link(self.query.text)


@page("read")
@require_POST
def act(request: PageRequest) -> HttpResponseBase:
    params = _read_params(request)
    if params.action in _NEED_RUN and "run" not in params.actor.actions:
        raise NotAllowed(_("Your account may not change what is in the log."), code="missing_action")
    if params.action == "compare":
        return _compare(params)
    if params.action == "export":
        return _export(request, params)
    action = _row_action(params)
    count = numbers.stats(params.actor, params.query).count if params.everything else len(params.keys)
    if "sure" not in request.POST and (params.everything or params.action == "delete"):
        return _confirm(request, params, count)
    if params.everything and count > MAX_IN_REQUEST:
        return _run_in_background(request, params, action, count)
    if params.everything:
        result = bulk.to_all(params.actor, params.query, action)
    else:
        result = bulk.to_keys(params.actor, params.tab.level, params.keys, action)
    _report(request, params.action, result)
    return redirect(params.back)


def _read_params(request: PageRequest) -> BulkParams:
    fields = request.POST
    tab, action = LIST_OF_LEVEL.get(fields.get("level", "")), fields.get("action", "")
    if tab is None:
        raise InvalidRequest(f"level: say one of {', '.join(LIST_OF_LEVEL)}.", param="level")
    if action not in _ACTIONS or (action == "compare" and not is_installed("forks")):
        raise InvalidRequest(_("Choose an action."), param="action")
    query = parser.read(fields.get("q", ""), now_us=ids.now_us(), zone=zone_of(request), level=tab.level)
    everything, public = fields.get("all") == "true", tuple(fields.getlist("ids"))
    if not everything and not 1 <= len(public) <= MAX_CHOSEN:
        raise InvalidRequest(_("Select rows first: at most 1,000 individually."), param="ids")
    keys = () if everything else tuple(_key(tab, public_id) for public_id in public)
    return BulkParams(request.actor, action, tab, query, keys, public, everything, fields.get("tag", ""))


def _key(tab: ListTab, public_id: str) -> int:
    key = key_of(tab.level, public_id)
    if key is None:
        raise InvalidRequest(f"ids: '{public_id[:80]}' is not the id of a {tab.level}.", param="ids")
    return key


def _row_action(params: BulkParams) -> RowAction:
    if params.action == "delete":
        if params.tab.level not in ("turn", "session"):
            raise InvalidRequest(_("Only turns and sessions can be deleted."), param="level")
        return bulk.delete
    try:
        names = TagNames(tags=[part for part in params.tag.split(",") if part.strip()]).tags
    except ValidationError as error:
        raise InvalidRequest(_("Write a tag of at most 100 characters."), param="tag") from error
    return bulk.tag_action(add=names) if params.action == "tag" else bulk.tag_action(remove=names)


# --------------------------------------------------------------------------------------- answering


def _confirm(request: PageRequest, params: BulkParams, count: int) -> HttpResponse:
    context = {"params": params, "count": count, "sentence": describe(params.query, params.tab.level, translation)}
    return render(request, "logs/bulk_action.html", context)


def _report(request: PageRequest, action: str, result: BulkResult) -> None:
    if action == "delete":
        message = ngettext("%(num)s row is deleted.", "%(num)s rows are deleted.", result.done)
    else:
        message = ngettext("The tags of %(num)s row are changed.", "The tags of %(num)s rows are changed.", result.done)
    messages.success(request, message % {"num": format.integer(result.done)})
    if result.running:
        warning = ngettext(
            "%(num)s row is still running: skipped.", "%(num)s rows are still running: skipped.", result.running
        )
        messages.warning(request, warning % {"num": format.integer(result.running)})
    if result.closed:
        warning = ngettext(
            "You may not change %(num)s row: skipped.", "You may not change %(num)s rows: skipped.", result.closed
        )
        messages.warning(request, warning % {"num": format.integer(result.closed)})


def _run_in_background(request: PageRequest, params: BulkParams, action: RowAction, count: int) -> HttpResponse:
    service().runner.run_in_background(partial(_run_job, partial(bulk.to_all, params.actor, params.query, action)))
    message = _("%(num)s rows are being changed in the background, newest first.")
    messages.info(request, message % {"num": format.integer(count)})
    return redirect(params.back)


async def _run_job(job: partial[BulkResult]) -> None:
    def run() -> None:
        try:
            job()
        finally:
            connections.close_all()

    await asyncio.to_thread(run)


def _compare(params: BulkParams) -> HttpResponse:
    if params.tab.level != "turn" or params.everything or len(params.public) != 2:
        raise InvalidRequest(_("Select exactly two turns to compare."), param="ids")
    older, newer = sorted(params.public)
    return redirect(at(f"/turns/compare/?{urlencode({'a': older, 'b': newer})}"))


def _export(request: PageRequest, params: BulkParams) -> HttpResponseBase:
    form = read_format(request.POST.get("format", ""))
    if params.everything:
        values = {"level": params.tab.level, "q": params.query.text, "format": form}
        return redirect(at(f"/logs/export/?{urlencode(values)}"))
    row_encoder = encoder(form, params.tab.level)
    body = row_encoder.head + row_encoder.encode(
        rows.of(params.tab.level, _visible_keys(params.actor, params.tab, params.keys))
    )
    headers = {"Content-Disposition": f'attachment; filename="{params.tab.level}s-chosen.{form}"'}
    return HttpResponse(body, content_type=TYPES[form], headers=headers)


def _visible_keys(actor: Actor, tab: ListTab, keys: Sequence[int]) -> list[Any]:
    """Return the keys of the chosen rows that the actor may see, newest first."""
    visible = listing.visible(tab.level, actor).filter(pk__in=list(keys))
    return list(visible.order_by("-pk").values_list("pk", flat=True))
