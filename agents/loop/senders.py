"""Finds the actor that a stored request acts for."""

from __future__ import annotations

from agents.base.access import Actor
from agents.base.store import keys, scopes


def present_actor(user: int | None, api_key: int | None, scope: int | None) -> Actor | None:
    """Return the actor that sent a stored request, with its present rights; None where it may not run any more. What
    an identity provider has stated holds as it was when the request came."""
    if user is None:
        return None
    holder = (user, api_key)
    right = keys.rights({holder}).get(holder)
    if right is None:
        return None
    if right.actor is None:
        attributes = scopes.all_scopes().get(scope or 0)
        return None if attributes is None else keys.issued_actor(user, attributes)
    return right.actor if "run" in right.actor.actions else None
