"""The actor of a request to the admin."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest

from agents.base import access
from agents.base.access import ANONYMOUS, Actor
from agents.base.store import keys


def actor_of(request: HttpRequest) -> Actor:
    """The server's own rights for a superuser, who still owns what they create; the rights of their groups for
    other staff."""
    user = request.user
    if not user.is_authenticated or not user.is_active:
        return ANONYMOUS
    if user.is_superuser:
        return replace(access.system("admin"), user_id=user.pk)
    return keys.of_user_id(user.pk) or ANONYMOUS
