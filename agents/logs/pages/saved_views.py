"""Show saved views on the list page: a menu of named queries, and the forms that save and change them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from agents.base.errors import InvalidRequest
from agents.logs.pages.lists import LIST_OF_LEVEL
from agents.logs.schemas.saved_views import CreateView
from agents.logs.store import saved_views
from agents.logs.store.saved_views import StoredView
from agents.query.tree import Level
from agents.uikit.access import PageRequest, page


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A view in the menu, with its URL; ``here`` marks the one that is displayed."""

    view: StoredView
    name: str
    url: str
    here: bool


def menu(request: PageRequest, level: Level, text: str) -> dict[str, Any]:
    """Return the context of `agents/_log_views.html` besides ``place`` and ``text``, the current query."""
    entries = [_entry(view, level, text) for view in (*saved_views.BUILT_IN, *saved_views.listing(request.actor))]
    return {
        "views_built_in": [entry for entry in entries if entry.view.built_in],
        "views_saved": [entry for entry in entries if not entry.view.built_in],
        "views_kept": "run" in request.actor.actions,
        "view_columns": request.GET.getlist("col"),
        "view_here": next((entry for entry in entries if entry.here), None),
    }


def _entry(view: StoredView, level: Level, text: str) -> MenuEntry:
    name = _(view.name) if view.built_in else view.name
    return MenuEntry(view, name, url_of(view), here=view.level == level and view.query == text.strip())


def url_of(view: StoredView) -> str:
    """Return the URL of the list under a view."""
    params = [("q", view.query), *(("col", name) for name in view.columns)]
    return f"{LIST_OF_LEVEL[view.level].path}?{urlencode(params)}"


@page("run")
@require_POST
def save(request: PageRequest) -> HttpResponse:
    """Save the current query under a name."""
    fields = {name: request.POST.get(name, "") for name in ("name", "q", "level")}
    fields["level"] = fields["level"] or "turn"
    try:
        body = CreateView(**fields, columns=request.POST.getlist("col"), shared="shared" in request.POST)
    except ValidationError as error:
        raise _invalid(error) from error
    view = StoredView("", body.name, body.q, body.level, tuple(body.columns), body.shared)
    view = saved_views.create(request.actor, view)
    messages.success(request, _("Saved as “%(name)s”.") % {"name": view.name})
    return redirect(url_of(view))


@page("run")
@require_POST
def change(request: PageRequest, view_id: str) -> HttpResponse:
    """Rename, share, unshare or delete a view, or replace its query by the current one."""
    view = saved_views.get(request.actor, view_id, "run")
    act = request.POST.get("act", "")
    if act == "delete":
        saved_views.delete(request.actor, view_id)
        messages.success(request, _("“%(name)s” is deleted.") % {"name": view.name})
        return redirect(url_of(view))
    changes = _changes(request, act)
    try:
        CreateView(name=changes.get("name", view.name))
    except ValidationError as error:
        raise _invalid(error) from error
    return redirect(url_of(saved_views.update(request.actor, view_id, changes)))


def _changes(request: PageRequest, act: str) -> dict[str, Any]:
    match act:
        case "rename":
            return {"name": " ".join(request.POST.get("name", "").split())}
        case "share" | "unshare":
            return {"shared": act == "share"}
        case "update":
            return {"query": request.POST.get("q", "")}
        case _:
            raise InvalidRequest(_("Choose an action for this view."), param="act")


def _invalid(error: ValidationError) -> InvalidRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return InvalidRequest(f"{field}: {first['msg']}", param=field)
