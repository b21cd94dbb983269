"""API keys and users: the only module that makes actors.

A key is ``ask_`` + 43 random characters + a checksum of 6, so that a scanner can tell a real one
offline. Only its SHA-256 is stored: a random secret needs no slow hash.
"""

from __future__ import annotations

import hashlib
import secrets
import string
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.access import ACTIONS, ADMIN_ROLE, OPERATOR_ROLE, READER_ROLE, Action, Actor, Attributes, attributes_of
from agents.base.errors import InvalidRequest, NotAuthenticated, NotFound
from agents.base.models.people import ApiKey, GroupAttributes, User
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none

PREFIX = "ask_"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_RANDOM, _CHECK = 43, 6
CACHE_TTL_S = 2.0
"""How long an actor is cached; a revoked key stops working this much later at most."""
USE_INTERVAL_US = 60_000_000
LOCAL = "local"
ISSUED_USER_PREFIX = "token:"
"""Prefix of the names of users that came with a token of an identity provider."""

_cache: dict[str, tuple[float, Actor]] = {}


def forget() -> None:
    """Empty the cache."""
    _cache.clear()


# ------------------------------------------------------------------------------------------ the secret


def _base62(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits = _ALPHABET[digit] + digits
    return digits


def new_secret() -> str:
    """Generate the secret of a new key."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM))
    return PREFIX + body + _base62(zlib.crc32(body.encode()), _CHECK)


def is_well_formed(secret: str) -> bool:
    """Tell whether a text can be one of our keys: prefix, length and checksum."""
    body, check = secret[len(PREFIX) : -_CHECK], secret[-_CHECK:]
    if not secret.startswith(PREFIX) or len(body) != _RANDOM:
        return False
    return secrets.compare_digest(_base62(zlib.crc32(body.encode()), _CHECK).encode(), check.encode())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


# -------------------------------------------------------------------------------------------- actors


def _attributes_of_users(users: Collection[int]) -> dict[int, Attributes]:
    """Merge the attributes of each user's groups."""
    merged: dict[int, dict[str, frozenset[str]]] = {user: {} for user in users}
    rows = GroupAttributes.objects.filter(group__user__in=users).values_list("group__user", "attributes")
    for user, raw in rows:
        own = merged[user]
        for category, values in attributes_of(raw).items():
            own[category] = own.get(category, frozenset()) | values
    return dict(merged)


_ROLE_ACTIONS: tuple[tuple[str, frozenset[Action]], ...] = (
    (ADMIN_ROLE, ACTIONS),
    (OPERATOR_ROLE, frozenset({"read", "run", "ingest"})),
    (READER_ROLE, frozenset({"read"})),
)
"""The first of these roles that a user has decides what it may do; a user without any may do everything with
its own rows."""


def actions_of(attributes: Attributes) -> frozenset[Action]:
    """Return the actions that these attributes allow."""
    roles = attributes.get("roles", frozenset())
    return next((actions for role, actions in _ROLE_ACTIONS if role in roles), ACTIONS)


def _cached(name: str) -> Actor | None:
    entry = _cache.get(name)
    return entry[1] if entry and time.monotonic() - entry[0] < CACHE_TTL_S else None


def _remember(name: str, actor: Actor) -> Actor:
    if len(_cache) > 10_000:
        _cache.clear()
    _cache[name] = time.monotonic(), actor
    return actor


def of_user(user: User) -> Actor:
    """Return the actor of a logged-in user."""
    return _user_actor(user, _attributes_of_users([user.pk])[user.pk])


def _user_actor(user: User, attributes: Attributes) -> Actor:
    return Actor(user.get_username(), user_id=user.pk, attributes=attributes, actions=actions_of(attributes))


def of_user_id(user_id: int) -> Actor | None:
    """Return the actor of a user by id, cached for `CACHE_TTL_S`; None when there is no such active user."""
    name = f"user:{user_id}"
    actor = _cached(name)
    if actor is None:
        user = User.objects.filter(pk=user_id, is_active=True).first()
        actor = _remember(name, of_user(user)) if user else None
    return actor


def of_name(username: str) -> Actor | None:
    """Return the actor of the active user of this name; the local user is created if it is missing."""
    if username == LOCAL:
        return local()
    user = User.objects.filter(username=username, is_active=True).first()
    return None if user is None else of_user(user)


_LOCAL_ATTRIBUTES: Attributes = {"roles": frozenset({ADMIN_ROLE})}


def local() -> Actor:
    """Return the built-in user of a server bound to loopback: admin in the product, not in Django's admin."""
    actor = _cached(LOCAL)
    if actor is not None:
        return actor
    user = User.objects.filter(username=LOCAL).first() or writer.write(_create_local)
    return _remember(LOCAL, _user_actor(user, _LOCAL_ATTRIBUTES))


def _create_local() -> User:
    user, created = User.objects.get_or_create(username=LOCAL, defaults={"first_name": "Local user"})
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def of_secret(secret: str) -> Actor:
    """Return the actor of an API key: its user's current rights, narrowed by the key's actions.
    Raises NotAuthenticated for an unknown, revoked or expired key, or one whose user was deleted."""
    digest = _digest(secret)
    actor = _cached(digest)
    if actor is not None:
        return actor
    key = ApiKey.objects.select_related("user").filter(digest=digest).first() if is_well_formed(secret) else None
    now = ids.now_us()
    if key is None or key.revoked_at or (key.expires_at and to_us(key.expires_at) <= now) or not key.user.is_active:
        raise NotAuthenticated("This API key is not valid.", code="invalid_api_key")
    _note_use(key, now)
    user = local() if key.user.username == LOCAL else of_user(key.user)
    return _remember(digest, _narrowed(user, key))


def _narrowed(user: Actor, key: ApiKey) -> Actor:
    actions = user.actions & frozenset(key.actions)
    name = f"{user.name} ({key.name})"
    return Actor(
        name,
        user_id=user.user_id,
        key_id=key.pk,
        attributes=user.attributes,
        actions=actions,
        keeps_unstored=key.keeps_unstored,
    )


def _note_use(key: ApiKey, now: int) -> None:
    if key.last_used_at and now - to_us(key.last_used_at) < USE_INTERVAL_US:
        return
    rows = ApiKey.objects.filter(pk=key.pk)
    writer.submit(lambda: rows.update(last_used_at=to_datetime(now)))


# ------------------------------------------------------------------------------------ rights over time


@dataclass(frozen=True, slots=True)
class Rights:
    """The current rights of a user or key. ``actor`` is None for a user of an identity provider: its rights are the
    issuer's to state, here only that the user is not disabled. ``ends_at`` is when the key expires, in microseconds
    since 1970."""

    actor: Actor | None
    ends_at: int | None = None

    def has_expired(self, now_us: int) -> bool:
        return self.ends_at is not None and self.ends_at <= now_us


def rights(holders: Collection[tuple[int, int | None]]) -> dict[tuple[int, int | None], Rights]:
    """Return the rights by (user id, key id or None), of those who still have any. Three queries."""
    users = User.objects.in_bulk({user for user, _ in holders})
    attributes = _attributes_of_users(users)
    api_keys = ApiKey.objects.filter(revoked_at=None).in_bulk({key for _, key in holders if key is not None})
    all_rights = {(user, key): _rights(users.get(user), key, attributes, api_keys) for user, key in holders}
    return {name: right for name, right in all_rights.items() if right is not None}


def _rights(
    user: User | None, key: int | None, attributes: Mapping[int, Attributes], api_keys: Mapping[int, ApiKey]
) -> Rights | None:
    if user is None or (key is not None and key not in api_keys):
        return None
    is_local = user.username == LOCAL
    if not user.is_active and not (is_local and key is None):
        return None
    if key is None and user.username.startswith(ISSUED_USER_PREFIX):
        return Rights(None)
    actor = _user_actor(user, _LOCAL_ATTRIBUTES if is_local else attributes[user.pk])
    if key is None:
        return Rights(actor)
    return Rights(_narrowed(actor, api_keys[key]), us_or_none(api_keys[key].expires_at))


def issued_actor(user_id: int, attributes: Attributes) -> Actor:
    """Return the actor of a user of an identity provider with the attributes that the issuer stated earlier."""
    user = User.objects.get(pk=user_id)
    return Actor(user.first_name or user.username, user_id, attributes=attributes, actions=actions_of(attributes))


# ------------------------------------------------------------------------------------------- managing


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as its owner sees it: never its secret. Times are microseconds since 1970."""

    public_id: str
    name: str
    last4: str
    actions: tuple[str, ...]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    user: str
    keeps_unstored: bool | None = None


def create(
    actor: Actor,
    *,
    name: str,
    actions: Sequence[str],
    expires_at_us: int | None = None,
    keeps_unstored: bool | None = None,
) -> tuple[str, str]:
    """Create a key for the acting user; returns (public id, secret), which is shown only now.
    Raises InvalidRequest."""
    unknown = [action for action in actions if action not in ACTIONS]
    if unknown or not actions:
        raise InvalidRequest(f"actions: choose from {', '.join(sorted(ACTIONS))}.", param="actions")
    if not name.strip() or len(name) > 100:
        raise InvalidRequest("name: 1 to 100 characters.", param="name")
    if actor.user_id is None:
        raise NotAuthenticated("Only a user can have keys.")
    secret, key, now = new_secret(), ids.new_key(), ids.now_us()
    row = ApiKey(
        id=key,
        name=name.strip(),
        user_id=actor.user_id,
        digest=_digest(secret),
        last4=secret[-4:],
        actions=sorted(set(actions)),
        created_at=to_datetime(now),
        expires_at=to_datetime(expires_at_us) if expires_at_us else None,
        keeps_unstored=keeps_unstored,
    )
    writer.write(lambda: row.save(force_insert=True))
    return ids.public(ids.Kind.KEY, key), secret


def listing(actor: Actor) -> list[KeyRecord]:
    """List the actor's own keys, and for an admin everyone's; newest first, at most 500."""
    rows = ApiKey.objects.select_related("user").order_by("-id")
    if not actor.is_admin:
        rows = rows.filter(user_id=actor.user_id or 0)
    return [
        KeyRecord(
            public_id=ids.public(ids.Kind.KEY, key.pk),
            name=key.name,
            last4=key.last4,
            actions=tuple(key.actions),
            created_at=to_us(key.created_at),
            expires_at=us_or_none(key.expires_at),
            revoked_at=us_or_none(key.revoked_at),
            last_used_at=us_or_none(key.last_used_at),
            user=key.user.username,
            keeps_unstored=key.keeps_unstored,
        )
        for key in rows[:500]
    ]


def revoke(actor: Actor, public_id: str) -> None:
    """Revoke a key at once. Raises NotFound for one that is not the actor's."""
    key = ids.parse(ids.Kind.KEY, public_id)
    rows = ApiKey.objects.filter(pk=key or 0)
    if not actor.is_admin:
        rows = rows.filter(user_id=actor.user_id or 0)
    now = to_datetime(ids.now_us())
    if not writer.write(lambda: rows.filter(revoked_at=None).update(revoked_at=now)) and not rows.exists():
        raise NotFound("This key was not found.")
    forget()
