"""The page of API keys: which there are, making one, revoking one.

A secret is shown on the answer to the form that made it and nowhere else: it is in no URL, no
session and no cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store import keys
from agents.base.store.keys import KeyRecord
from agents.uikit.access import PageRequest, page

DAY_US = 86_400_000_000
LIFETIMES: dict[str, tuple[str, int | None]] = {
    "7": (gettext_noop("7 days"), 7),
    "30": (gettext_noop("30 days"), 30),
    "90": (gettext_noop("90 days"), 90),
    "365": (gettext_noop("1 year"), 365),
    "never": (gettext_noop("never"), None),
}
USUAL_LIFETIME = "90"
ACTIONS = {
    "read": gettext_noop("see agents, sessions, turns and logs"),
    "run": gettext_noop("start, continue and cancel turns"),
    "ingest": gettext_noop("report runs from elsewhere"),
    "manage": gettext_noop("make, change and delete agents"),
}
"""In the order of the form, with what each allows."""
USUAL_ACTIONS = ("read", "run")


@dataclass(frozen=True, slots=True)
class Shown:
    """A key in the list. ``state`` is active, expired or revoked; ``ends_us`` is when it was, or will be, no more."""

    key: KeyRecord
    state: str
    ends_us: int | None


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def key_list(request: PageRequest) -> HttpResponse:
    """The keys; to a POST, the same page with a new one's secret on it."""
    if request.method != "POST":
        return _page(request)
    try:
        public_id, secret = _created(request)
    except InvalidRequest as error:
        return _page(request, error=error, status=400)
    return _page(request, made=public_id, secret=secret, status=201)


@page("read")
@require_POST
def revoke(request: PageRequest, key_id: str) -> HttpResponse:
    keys.revoke(request.actor, key_id)
    return redirect("keys")


def _created(request: PageRequest) -> tuple[str, str]:
    actions = request.POST.getlist("actions")
    if not set(actions) <= request.actor.actions:
        raise InvalidRequest(_("You can give a key only what you may do yourself."), param="actions")
    lifetime = request.POST.get("expires", USUAL_LIFETIME)
    if lifetime not in LIFETIMES:
        raise InvalidRequest(_("Choose how long the key lives."), param="expires")
    days = LIFETIMES[lifetime][1]
    expires = None if days is None else ids.now_us() + days * DAY_US
    name = request.POST.get("name", "").replace("\0", "")
    return keys.create(request.actor, name=name, actions=actions, expires_at_us=expires)


def _page(
    request: PageRequest,
    *,
    made: str = "",
    secret: str = "",
    error: InvalidRequest | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "rows": _rows(request.actor, made),
        "made": made,
        "secret": secret,
        "error": error,
        "form": _form(request, given=error is not None),
        "base_url": request.build_absolute_uri("/")[:-1],
        "shows_owner": request.actor.is_admin,
    }
    return render(request, "identity/keys.html", context, status=status)


def _rows(actor: Actor, made: str) -> list[Shown]:
    """The keys that work first; a new one on top of all."""
    rows = [_shown(key, ids.now_us()) for key in keys.listing(actor)]
    return sorted(rows, key=lambda row: (row.key.public_id != made, row.state != "active"))


def _shown(key: KeyRecord, now: int) -> Shown:
    ends = key.revoked_at or key.expires_at
    state = "revoked" if key.revoked_at else "expired" if ends is not None and ends <= now else "active"
    return Shown(key, state, ends)


def _form(request: HttpRequest, *, given: bool) -> dict[str, Any]:
    """What the form shows: what was typed where that was refused, else the usual."""
    actor: Actor = request.actor  # type: ignore[attr-defined]  # set by `page`
    usual = (request.GET["may"],) if request.GET.get("may") in ACTIONS else USUAL_ACTIONS
    chosen = request.POST.getlist("actions") if given else usual
    lifetime = request.POST.get("expires", "") if given else USUAL_LIFETIME
    return {
        "name": request.POST.get("name", "") if given else "",
        "actions": [(name, _(words), name in chosen) for name, words in ACTIONS.items() if name in actor.actions],
        "lifetimes": [(value, _(words), value == lifetime) for value, (words, _days) in LIFETIMES.items()],
    }
