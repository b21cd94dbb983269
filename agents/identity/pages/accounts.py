"""Who is reading: logging in and out, the first password by a link, changing it.

The admin's own login leads here too, so there is one door and one count of wrong passwords.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from agents.base.errors import RateLimited
from agents.identity.pages import device_cookies
from agents.identity.pages.login_attempts import Sender, attempts
from agents.identity.store import accounts
from agents.uikit.access import PageRequest, page

_BACKEND = "django.contrib.auth.backends.ModelBackend"
_slots = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Passwords are hashed slowly on purpose: never more at once than there are cores."""
SLOT_WAIT_S = 5.0
_WRONG = {"invalid_login", "password_incorrect"}
"""Django's codes for a password that is not the right one."""


@page(None)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password")
def login_page(request: PageRequest) -> HttpResponse:
    form = AuthenticationForm(request, data=_posted(request))
    context: dict[str, Any] = {"next": _target(request, default=""), "login_needed": settings.REQUIRE_LOGIN}
    if request.method == "POST":
        try:
            if _checked(_sender(request, form), form):
                return _entered(request, form.get_user(), _target(request))
        except RateLimited as error:
            return _shown(request, "identity/login.html", form, refused=error, **context)
    return _shown(request, "identity/login.html", form, **context)


def _target(request: HttpRequest, default: str = settings.LOGIN_REDIRECT_URL) -> str:
    """Where to go after the login: a page of ours, whatever the request asks for."""
    asked = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(asked, {request.get_host()}, require_https=request.is_secure())
    return asked if ours else default


def _entered(request: HttpRequest, user: Any, target: str) -> HttpResponse:
    """Log in, with a new session key and CSRF token, on a device that is known from now on."""
    login(request, user, backend=_BACKEND)
    response = redirect(target)
    device_cookies.remember(response, user)
    return response


@page(None)
@require_POST
def log_out(request: PageRequest) -> HttpResponse:
    logout(request)
    return redirect(settings.LOGIN_URL if settings.REQUIRE_LOGIN else settings.LOGIN_REDIRECT_URL)


@page(None)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def welcome(request: PageRequest, token: str) -> HttpResponse:
    """Set the password of the account a link was made for, and log in. Looking does not use it up."""
    user = accounts.of_token(token)
    form = SetPasswordForm(user, data=_posted(request))
    if request.method == "POST" and form.is_valid():
        with _slot():
            user = accounts.use_link(token, form.cleaned_data["new_password1"])
        return _entered(request, user, settings.LOGIN_REDIRECT_URL)
    return _shown(request, "identity/welcome.html", form, account=user.get_username())


@page("read")
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def password(request: PageRequest) -> HttpResponse:
    """Change one's own password, the old one given; wrong ones count like wrong logins."""
    user = request.user
    if not user.is_authenticated:  # the local user has no login
        return redirect(f"{settings.LOGIN_URL}?next={request.path}")
    form = PasswordChangeForm(user, data=_posted(request))
    if request.method == "POST":
        try:
            session = Sender(user.get_username(), "", device=request.session.session_key or "")
            if _checked(session, form):
                changed = accounts.set_password(user.pk, form.cleaned_data["new_password1"])
                update_session_auth_hash(request, changed)
                messages.success(request, _("Your password is changed; your other logins have ended."))
                response = redirect("keys")
                device_cookies.remember(response, changed)
                return response
        except RateLimited as error:
            return _shown(request, "identity/password.html", form, refused=error)
    return _shown(request, "identity/password.html", form)


# ------------------------------------------------------------------------------------------- forms


def _posted(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _sender(request: HttpRequest, form: AuthenticationForm) -> Sender:
    """Whoever sends the form, for the account that it names as its field reads it."""
    try:
        account = str(form.fields["username"].to_python(request.POST.get("username", "")))
    except forms.ValidationError:
        account = ""
    return Sender(account, address_of(request), device_cookies.known(request, account))


def _checked(sender: Sender, form: forms.Form) -> bool:
    """Whether a form with a password is valid. Only a wrong password counts as a failed attempt, not
    a missing one. Raises RateLimited before anything is hashed."""
    with _slot():
        attempts.begin(sender)
        valid = form.is_valid()
    if not any(error.code in _WRONG for errors in form.errors.as_data().values() for error in errors):
        attempts.take_back(sender)
    return valid


@contextmanager
def _slot() -> Iterator[None]:
    if not _slots.acquire(timeout=SLOT_WAIT_S):
        raise RateLimited(_("Too many people log in right now. Try again in a moment."), headers={"Retry-After": "2"})
    try:
        yield
    finally:
        _slots.release()


def address_of(request: HttpRequest) -> str:
    """Where a request comes from. Behind a proxy it is what that proxy saw, which it wrote last."""
    if settings.BEHIND_TLS:
        seen = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        if seen:
            return seen
    return str(request.META.get("REMOTE_ADDR") or "")


def _shown(
    request: HttpRequest, template: str, form: forms.Form, *, refused: RateLimited | None = None, **context: Any
) -> HttpResponse:
    """The page of a form: 400 with what is wrong in it, 429 when there were too many attempts."""
    status = refused.status if refused else 400 if form.errors else 200
    response = render(request, template, {"form": form, "refused": refused, **context}, status=status)
    for name, value in (refused.headers if refused else {}).items():
        response[name] = value
    return response
