"""The pages of accounts: login and logout, the first password by a link, changing the password.

The admin's own login redirects here too, so that there is one login and one count of wrong passwords.
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

from agents.base.api.sender import address_of
from agents.base.errors import RateLimited
from agents.identity.pages import device_cookies
from agents.identity.pages.login_attempts import LoginSource, attempts
from agents.identity.store import accounts
from agents.uikit.access import PageRequest, page

_BACKEND = "django.contrib.auth.backends.ModelBackend"
_hashing_slots = threading.BoundedSemaphore(os.cpu_count() or 1)
"""Passwords are hashed slowly on purpose: never more at once than there are cores."""
SLOT_WAIT_S = 5.0
_WRONG_PASSWORD_CODES = {"invalid_login", "password_incorrect"}
"""Django's codes for a password that is not the right one."""


@page(None)
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password")
def login_page(request: PageRequest) -> HttpResponse:
    form = AuthenticationForm(request, data=_post_values(request))
    context: dict[str, Any] = {"next": _redirect_target(request, default=""), "login_needed": settings.REQUIRE_LOGIN}
    if request.method == "POST":
        try:
            if _is_valid(_login_source(request, form), form):
                return _log_in(request, form.get_user(), _redirect_target(request))
        except RateLimited as error:
            return _form_page(request, "identity/login.html", form, refused=error, **context)
    return _form_page(request, "identity/login.html", form, **context)


def _redirect_target(request: HttpRequest, default: str = settings.LOGIN_REDIRECT_URL) -> str:
    """The URL to open after the login: always one of this server, whatever the request asks for."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())
    return url if is_ours else default


def _log_in(request: HttpRequest, user: Any, target: str) -> HttpResponse:
    """Log in, with a new session key and CSRF token, and remember the device."""
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
    """Set the password of the account that a link is for, and log in. A GET does not use the link up."""
    user = accounts.user_of_link(token)
    form = SetPasswordForm(user, data=_post_values(request))
    if request.method == "POST" and form.is_valid():
        with _hashing_slot():
            user = accounts.use_link(token, form.cleaned_data["new_password1"])
        return _log_in(request, user, settings.LOGIN_REDIRECT_URL)
    return _form_page(request, "identity/welcome.html", form, account=user.get_username())


@page("read")
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def password(request: PageRequest) -> HttpResponse:
    """Change the user's own password; it needs the old one, and wrong ones count like wrong logins."""
    user = request.user
    if not user.is_authenticated:  # the local user has no login
        return redirect(f"{settings.LOGIN_URL}?next={request.path}")
    form = PasswordChangeForm(user, data=_post_values(request))
    if request.method == "POST":
        try:
            session = LoginSource(user.get_username(), "", device=request.session.session_key or "")
            if _is_valid(session, form):
                changed = accounts.set_password(user.pk, form.cleaned_data["new_password1"])
                update_session_auth_hash(request, changed)
                messages.success(request, _("Your password is changed; your other logins have ended."))
                response = redirect("keys")
                device_cookies.remember(response, changed)
                return response
        except RateLimited as error:
            return _form_page(request, "identity/password.html", form, refused=error)
    return _form_page(request, "identity/password.html", form)


# ------------------------------------------------------------------------------------------- forms


def _post_values(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _login_source(request: HttpRequest, form: AuthenticationForm) -> LoginSource:
    """The source of a login, for the account as the form's field normalizes it."""
    try:
        account = str(form.fields["username"].to_python(request.POST.get("username", "")))
    except forms.ValidationError:
        account = ""
    return LoginSource(account, address_of(request), device_cookies.device_id(request, account))


def _is_valid(source: LoginSource, form: forms.Form) -> bool:
    """Whether a form with a password is valid. Only a wrong password counts as a failed attempt, not a missing one.
    Raises RateLimited before anything is hashed."""
    with _hashing_slot():
        attempts.begin(source)
        is_valid = form.is_valid()
    if not any(error.code in _WRONG_PASSWORD_CODES for errors in form.errors.as_data().values() for error in errors):
        attempts.take_back(source)
    return is_valid


@contextmanager
def _hashing_slot() -> Iterator[None]:
    if not _hashing_slots.acquire(timeout=SLOT_WAIT_S):
        raise RateLimited(_("Too many people log in right now. Try again in a moment."), headers={"Retry-After": "2"})
    try:
        yield
    finally:
        _hashing_slots.release()


def _form_page(
    request: HttpRequest, template: str, form: forms.Form, *, refused: RateLimited | None = None, **context: Any
) -> HttpResponse:
    """Render the page of a form: with 400 where it has errors, with 429 after too many attempts."""
    status = refused.status if refused else 400 if form.errors else 200
    response = render(request, template, {"form": form, "refused": refused, **context}, status=status)
    for name, value in (refused.headers if refused else {}).items():
        response[name] = value
    return response
