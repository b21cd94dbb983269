"""The decorator of every page: it finds the reader and checks what they may do.

A page without it fails the route test; it sends a reader who is not logged in to the login.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from agents.base import log_context, open_streams
from agents.base.access import ANONYMOUS, Action, Actor, require_admin
from agents.base.api.waiting import while_allowed
from agents.base.errors import AgentsError, NotAllowed, NotAuthenticated
from agents.base.store import keys
from agents.base.subjects import is_installed
from agents.uikit.errors import error_page
from agents.uikit.kept_numbers import kept_numbers
from agents.uikit.links import at

View = Callable[..., HttpResponseBase]


class PageRequest(HttpRequest):
    """A request with its actor, for the signatures of views."""

    actor: Actor


def actor_of(request: HttpRequest) -> Actor:
    """The logged-in user, or the local one where no login is required."""
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return keys.of_user_id(user.pk) or ANONYMOUS
    return ANONYMOUS if settings.REQUIRE_LOGIN else keys.local()


def page(action: Action | None, *, admins_only: bool = False) -> Callable[[View], View]:
    """Declare which action a page's reader must be allowed; None lets anyone in. With ``admins_only`` the reader needs
    the admin role as well."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            actor = actor_of(request)
            cast(PageRequest, request).actor = actor
            log_context.add_caller(actor)
            try:
                if action is not None:
                    if actor.is_anonymous:
                        return _to_login(request)
                    if action not in actor.actions:
                        raise NotAllowed(f"Your account may not {action}.")
                    if admins_only:
                        require_admin(actor)
                    open_streams.begin(request, actor)
                response = while_allowed(view(request, *args, **kwargs), actor)
                if request.method == "POST" and action is not None:
                    kept_numbers.forget()
                return response
            except AgentsError as error:
                return error_page(request, error)

        guarded.action = action  # type: ignore[attr-defined]  # read by the route test
        guarded.admins_only = admins_only  # type: ignore[attr-defined]  # the same
        return guarded

    return decorate


def _to_login(request: HttpRequest) -> HttpResponse:
    if not is_installed("identity"):
        words = "A login is needed here, and this server has none: the subject identity is not installed."
        return error_page(request, NotAuthenticated(words))
    target = request.get_full_path() if request.method == "GET" else at("/logs/")
    return redirect(f"{settings.LOGIN_URL}?next={quote(target)}")
