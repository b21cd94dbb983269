"""Actors of tokens of an identity provider. The provider of the settings identifies a token, cached for
seconds; each identity gets a user here, which owns the rows it creates."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.schemas.identity import Identity, TokenRequest
from agents.base.store import keys
from agents.base.store.writer import writer

CACHE_TTL_S = 5.0
"""How long an identity is cached: a right that was taken away ends this much later at most."""
_MAX_OWNER, _DIGEST = 140, "sha256"

Identify = Callable[[str, TokenRequest], Identity]
_identify: Identify | None = None
_cache: dict[str, tuple[float, Actor]] = {}


def use_provider(identify: Identify | None) -> None:
    """Set the function that identifies tokens (it raises NotAuthenticated, Unavailable); None: no provider."""
    global _identify
    _identify = identify
    _cache.clear()


def has_provider() -> bool:
    """Tell whether an identity provider is configured."""
    return _identify is not None


def actor_of(token: str, request: TokenRequest) -> Actor:
    """Return the actor of a token. Raises NotAuthenticated, Unavailable."""
    assert _identify is not None  # `are_known`
    name = hashlib.sha256(token.encode(errors="replace")).hexdigest()
    entry = _cache.get(name)
    if entry and time.monotonic() < entry[0]:
        return entry[1]
    identity = _identify(token, request)
    actor = _actor(identity)
    if len(_cache) > 10_000:
        _cache.clear()
    _cache[name] = time.monotonic() + _ttl_s(identity), actor
    return actor


def _ttl_s(identity: Identity) -> float:
    return CACHE_TTL_S if identity.until is None else max(min(CACHE_TTL_S, identity.until - time.time()), 0.0)


def _actor(identity: Identity) -> Actor:
    name = _username(identity.owner)
    user = User.objects.filter(username=name).first() or writer.write(lambda: _find_or_create_user(name, identity.name))
    if not user.is_active:
        return Actor(name)
    attributes = identity.attributes
    return Actor(identity.name[:200], user_id=user.pk, attributes=attributes, actions=keys.actions_of(attributes))


def _username(owner: str) -> str:
    """Return the name of an owner's user: a digest for a long owner, behind a word that no other name has there."""
    if len(owner) <= _MAX_OWNER:
        return keys.ISSUED_USER_PREFIX + owner
    return f"{keys.ISSUED_USER_PREFIX}{_DIGEST} {hashlib.sha256(owner.encode()).hexdigest()}"


def _find_or_create_user(name: str, principal: str) -> User:
    """Return the user of an identity, created without a password if it is new."""
    user, created = User.objects.get_or_create(username=name, defaults={"first_name": principal[:150]})
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
