"""Actors behind tokens that others issue: who they are is asked of the identity provider of the
settings, once in a while; here they get a user of their own, so that what they make is theirs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.schemas.identity import Identity, TokenRequest
from agents.base.store import keys
from agents.base.store.writer import writer

FRESH_S = 5.0
"""How long an answer is believed: a right that was taken away ends this much later at most."""
_LONGEST, _DIGEST = 140, "sha256"

Identify = Callable[[str, TokenRequest], Identity]
_identify: Identify | None = None
_known: dict[str, tuple[float, Actor]] = {}


def use(identify: Identify | None) -> None:
    """Say who tells whose a token is: raises NotAuthenticated, Unavailable. None: nobody."""
    global _identify
    _identify = identify
    _known.clear()


def are_known() -> bool:
    """Whether there is somebody who knows tokens."""
    return _identify is not None


def actor_of(token: str, asked: TokenRequest) -> Actor:
    """The actor behind a token. Raises NotAuthenticated, Unavailable."""
    assert _identify is not None  # `are_known`
    name = hashlib.sha256(token.encode(errors="replace")).hexdigest()
    found = _known.get(name)
    if found and time.monotonic() < found[0]:
        return found[1]
    identity = _identify(token, asked)
    actor = _actor(identity)
    if len(_known) > 10_000:
        _known.clear()
    _known[name] = time.monotonic() + _fresh_s(identity), actor
    return actor


def _fresh_s(identity: Identity) -> float:
    return FRESH_S if identity.until is None else max(min(FRESH_S, identity.until - time.time()), 0.0)


def _actor(identity: Identity) -> Actor:
    name = _username(identity.owner)
    user = User.objects.filter(username=name).first() or writer.write(lambda: _make_user(name, identity.name))
    if not user.is_active:
        return Actor(name)
    attributes = identity.attributes
    return Actor(identity.name[:200], user_id=user.pk, attributes=attributes, actions=keys.actions_of(attributes))


def _username(owner: str) -> str:
    """One for each owner: what is too long is kept by its digest, behind a word that no other name has there."""
    if len(owner) <= _LONGEST:
        return keys.OF_ISSUERS + owner
    return f"{keys.OF_ISSUERS}{_DIGEST} {hashlib.sha256(owner.encode()).hexdigest()}"


def _make_user(name: str, principal: str) -> User:
    """Without a password: it enters by its token only."""
    user, made = User.objects.get_or_create(username=name, defaults={"first_name": principal[:150]})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
