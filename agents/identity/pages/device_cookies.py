"""Cookies of devices that were logged in before, so that strangers' wrong passwords never keep them out
(OWASP: "Slow Down Online Guessing Attacks with Device Cookies").

One for each account, given at a login and kept at the logout. It lets nobody in: it only says whose
wrong passwords are counted apart.
"""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse

from agents.identity.store import accounts

AGE_S = 365 * 24 * 3600


def known(request: HttpRequest, username: str) -> str:
    """Which device of this account sends a request; '' for a stranger."""
    note = request.COOKIES.get(_cookie(username), "")
    return accounts.known_device(note, username) if note else ""


def remember(response: HttpResponse, user: AbstractBaseUser) -> None:
    """Make the browser that gets this answer a device of the account."""
    response.set_cookie(
        _cookie(user.get_username()),
        accounts.device_of(user),
        max_age=AGE_S,
        secure=settings.BEHIND_TLS,
        httponly=True,
        samesite="Strict",
    )


def _cookie(username: str) -> str:
    digest = hashlib.sha256(username.encode(errors="replace")).hexdigest()[:16]
    return f"{'__Host-' if settings.BEHIND_TLS else ''}device-{digest}"
