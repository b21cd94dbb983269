"""The page of API keys: lists, creates and revokes them.

A secret is shown in the response to the form that created it and nowhere else: it is in no URL, no session and no
cache.
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
from agents.uikit.links import base_url

DAY_US = 86_400_000_000
LIFETIMES: dict[str, tuple[str, int | None]] = {
    "7": (gettext_noop("7 days"), 7),
    "30": (gettext_noop("30 days"), 30),
    "90": (gettext_noop("90 days"), 90),
    "365": (gettext_noop("1 year"), 365),
    "never": (gettext_noop("never"), None),
}
DEFAULT_LIFETIME = "90"
ACTIONS = {
    "read": gettext_noop("see agents, sessions, turns and logs"),
    "run": gettext_noop("start, continue and cancel turns"),
    "ingest": gettext_noop("report runs from elsewhere"),
    "manage": gettext_noop("make, change and delete agents"),
}
"""The actions in the order of the form, with their descriptions."""
DEFAULT_ACTIONS = ("read", "run")
KEEPS: dict[str, tuple[str, bool | None]] = {
    "": (gettext_noop("as the server does"), None),
    "yes": (gettext_noop("keep it in the log"), True),
    "no": (gettext_noop("keep nothing of it"), False),
}
"""Whether the log keeps what is not to be stored."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key in the list. ``state`` is active, expired or revoked; ``ends_us`` is when it ended or will end."""

    key: KeyRecord
    state: str
    ends_us: int | None


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def key_list(request: PageRequest) -> HttpResponse:
    """Render the keys; a POST creates one, and renders the same page with its secret."""
    if request.method != "POST":
        return _page(request)
    try:
        public_id, secret = _create(request)
    except InvalidRequest as error:
        return _page(request, error=error, status=400)
    return _page(request, created_id=public_id, secret=secret, status=201)


@page("read")
@require_POST
def revoke(request: PageRequest, key_id: str) -> HttpResponse:
    keys.revoke(request.actor, key_id)
    return redirect("keys")


def _create(request: PageRequest) -> tuple[str, str]:
    actions = request.POST.getlist("actions")
    if not set(actions) <= request.actor.actions:
        raise InvalidRequest(_("You can only grant permissions that you have yourself."), param="actions")
    lifetime = request.POST.get("expires", DEFAULT_LIFETIME)
    if lifetime not in LIFETIMES:
        raise InvalidRequest(_("Choose when the key expires."), param="expires")
    days = LIFETIMES[lifetime][1]
    expires = None if days is None else ids.now_us() + days * DAY_US
    name = request.POST.get("name", "").replace("\0", "")
    keeps = request.POST.get("keeps", "")
    if keeps not in KEEPS:
        raise InvalidRequest(_("Choose whether the log keeps requests that ask not to be stored."), param="keeps")
    return keys.create(request.actor, name=name, actions=actions, expires_at_us=expires, keeps_unstored=KEEPS[keeps][1])


def _page(
    request: PageRequest,
    *,
    created_id: str = "",
    secret: str = "",
    error: InvalidRequest | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "rows": _rows(request.actor, created_id),
        "made": created_id,
        "secret": secret,
        "error": error,
        "form": _form(request, was_refused=error is not None),
        "base_url": base_url(request),
        "shows_owner": request.actor.is_admin,
    }
    return render(request, "identity/keys.html", context, status=status)


def _rows(actor: Actor, created_id: str) -> list[KeyRow]:
    """The rows of the list: active keys first, the new one on top."""
    rows = [_key_row(key, ids.now_us()) for key in keys.listing(actor)]
    return sorted(rows, key=lambda row: (row.key.public_id != created_id, row.state != "active"))


def _key_row(key: KeyRecord, now: int) -> KeyRow:
    ends = key.revoked_at or key.expires_at
    state = "revoked" if key.revoked_at else "expired" if ends is not None and ends <= now else "active"
    return KeyRow(key, state, ends)


def _form(request: HttpRequest, *, was_refused: bool) -> dict[str, Any]:
    """The values of the form: those that were sent where they were refused, else the defaults."""
    actor: Actor = request.actor  # type: ignore[attr-defined]  # set by `page`
    usual = (request.GET["may"],) if request.GET.get("may") in ACTIONS else DEFAULT_ACTIONS
    chosen = request.POST.getlist("actions") if was_refused else usual
    lifetime = request.POST.get("expires", "") if was_refused else DEFAULT_LIFETIME
    keeps = request.POST.get("keeps", "") if was_refused else ""
    return {
        "name": request.POST.get("name", "") if was_refused else "",
        "keeps": [(value, _(label), value == keeps) for value, (label, _keeps) in KEEPS.items()],
        "actions": [(name, _(label), name in chosen) for name, label in ACTIONS.items() if name in actor.actions],
        "lifetimes": [(value, _(label), value == lifetime) for value, (label, _days) in LIFETIMES.items()],
    }
