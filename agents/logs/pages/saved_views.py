"""Saved views on the list page: a menu of queries with names, and the forms that keep and change them."""

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
from agents.logs.pages.lists import OF
from agents.logs.schemas.saved_views import CreateView
from agents.logs.store import saved_views
from agents.logs.store.saved_views import View
from agents.query.tree import Level
from agents.uikit.access import PageRequest, page


@dataclass(frozen=True, slots=True)
class Entry:
    """A view in the menu: where it leads, and whether it is what is shown now."""

    view: View
    name: str
    url: str
    here: bool


def menu(request: PageRequest, level: Level, text: str) -> dict[str, Any]:
    """What `agents/_log_views.html` needs beside ``place`` and ``text``, the query shown."""
    entries = [_entry(view, level, text) for view in (*saved_views.BUILT_IN, *saved_views.listing(request.actor))]
    return {
        "views_built_in": [each for each in entries if each.view.built_in],
        "views_saved": [each for each in entries if not each.view.built_in],
        "views_kept": "run" in request.actor.actions,
        "view_columns": request.GET.getlist("col"),
        "view_here": next((each for each in entries if each.here), None),
    }


def _entry(view: View, level: Level, text: str) -> Entry:
    name = _(view.name) if view.built_in else view.name
    return Entry(view, name, url_of(view), here=view.level == level and view.query == text.strip())


def url_of(view: View) -> str:
    """The list under a view."""
    given = [("q", view.query), *(("col", name) for name in view.columns)]
    return f"{OF[view.level].path}?{urlencode(given)}"


@page("run")
@require_POST
def save(request: PageRequest) -> HttpResponse:
    """Keep the query that is shown under a name."""
    given = {name: request.POST.get(name, "") for name in ("name", "q", "level")}
    given["level"] = given["level"] or "turn"
    try:
        body = CreateView(**given, columns=request.POST.getlist("col"), shared="shared" in request.POST)
    except ValidationError as error:
        raise _wrong(error) from error
    made = View("", body.name, body.q, body.level, tuple(body.columns), body.shared)
    made = saved_views.create(request.actor, made)
    messages.success(request, _("Saved as “%(name)s”.") % {"name": made.name})
    return redirect(url_of(made))


@page("run")
@require_POST
def change(request: PageRequest, view_id: str) -> HttpResponse:
    """Rename, share or unshare, put the query that is shown in its place, delete."""
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
        raise _wrong(error) from error
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
            raise InvalidRequest(_("Say what is to become of this view."), param="act")


def _wrong(error: ValidationError) -> InvalidRequest:
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return InvalidRequest(f"{field}: {first['msg']}", param=field)
