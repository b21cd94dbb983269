"""Sets and reads cookies of devices that were logged in before, so that strangers' wrong passwords never lock them out
(OWASP: "Slow Down Online Guessing Attacks with Device Cookies").

There is one for each account, set at a login and kept at the logout. It authenticates nobody: the wrong passwords of
its device are only counted separately.
"""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse

from agents.identity.store import accounts

MAX_AGE_S = 365 * 24 * 3600


def device_id(request: HttpRequest, username: str) -> str:
    """The device of this account that sends a request; '' for an unknown one."""
    note = request.COOKIES.get(_cookie(username), "")
    return accounts.device_of_cookie(note, username) if note else ""


def remember(response: HttpResponse, user: AbstractBaseUser) -> None:
    """Make the browser that gets this answer a device of the account."""
    response.set_cookie(
        _cookie(user.get_username()),
        accounts.device_cookie(user),
        max_age=MAX_AGE_S,
        path=settings.COOKIE_PATH,
        secure=settings.BEHIND_TLS,
        httponly=True,
        samesite="Strict",
    )


def _cookie(username: str) -> str:
    digest = hashlib.sha256(username.encode(errors="replace")).hexdigest()[:16]
    # browsers take a cookie of such a name from TLS alone; with __Host- also for the whole host alone
    prefix = "" if not settings.BEHIND_TLS else "__Secure-" if settings.URL_PREFIX else "__Host-"
    return f"{prefix}device-{digest}"
