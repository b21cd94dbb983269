"""Manages accounts: the first superuser, by a link that works once, passwords, and device cookies.

There is no default password: the person who reads the server's terminal opens the link and sets the first one. A link
is bound to the state of its account, so it expires with the first password that is set, the next login, or its age.
"""

from __future__ import annotations

import secrets

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX, make_password
from django.contrib.auth.models import Group
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils.crypto import constant_time_compare, salted_hmac

from agents.base.access import ADMIN_ROLE
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.people import GroupAttributes, User
from agents.base.store import keys
from agents.base.store.writer import writer

SUPERUSER = "admin"
"""The default name of the first superuser."""
ADMIN_GROUP = "admins"
"""The group of the product's admins; a superuser created here belongs to it."""
LINK_AGE_S = 15 * 60
_SALT = "agents.welcome"
_DEVICE_SALT = "agents.device"


def admin_link(base_url: str) -> str | None:
    """A link for the first superuser, who is created if missing; None as soon as one has a password. ``base_url`` has
    no slash at its end."""
    superusers = User.objects.filter(is_superuser=True, is_active=True)
    if superusers.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX).exists():
        return None
    return link_for(SUPERUSER, base_url)


def link_for(username: str, base_url: str) -> str:
    """Make ``username`` a superuser and return a link for setting the password. An account that has one keeps it until
    then. Raises InvalidRequest."""
    user = writer.write(lambda: _superuser(username))
    keys.forget()
    return f"{base_url}/welcome/{_token(user)}"


def _superuser(username: str) -> User:
    if username == keys.LOCAL:
        raise InvalidRequest(f"'{keys.LOCAL}' is the built-in user and has no login.", param="username")
    user = User.objects.filter(username=username).first() or _create_user(username)
    if not (user.is_superuser and user.is_staff and user.is_active):
        user.is_superuser = user.is_staff = user.is_active = True
        user.save(update_fields=["is_superuser", "is_staff", "is_active"])
    user.groups.add(_admins())
    return user


def _create_user(username: str) -> User:
    user = User(username=username)
    user.set_unusable_password()
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise InvalidRequest(f"username: {error.messages[0]}", param="username") from error
    user.save(force_insert=True)
    return user


def _admins() -> Group:
    group, is_new = Group.objects.get_or_create(name=ADMIN_GROUP)
    if is_new:
        GroupAttributes.objects.create(group=group, attributes={"roles": [ADMIN_ROLE]})
    return group


# ------------------------------------------------------------------------------------------ the link


def _state(user: User) -> str:
    """A hash that changes with the password and with each login."""
    state = f"{user.pk}:{user.password}:{user.last_login}:{user.is_active}"
    return salted_hmac(_SALT, state, algorithm="sha256").hexdigest()[:32]


def _token(user: User) -> str:
    return signing.dumps([user.pk, _state(user)], salt=_SALT)


def user_of_link(token: str) -> User:
    """The account that a link is for. Raises NotFound where the link was used, is too old, or is not one of ours."""
    error = NotFound("This link was used already, or is older than 15 minutes. Print a new one: turnlog admin_link")
    try:
        key, state = signing.loads(token, salt=_SALT, max_age=LINK_AGE_S)
    except signing.BadSignature as bad_signature:
        raise error from bad_signature
    user = User.objects.filter(pk=key).first()
    if user is None or not constant_time_compare(state, _state(user)):
        raise error
    return user


def use_link(token: str, password: str) -> User:
    """Set the password of a link's account; of two that try at once, one raises NotFound."""
    hashed = make_password(password)  # slow on purpose, so before the transaction

    def job() -> User:
        user = user_of_link(token)
        user.password = hashed
        user.save(update_fields=["password"])
        return user

    return writer.write(job)


def set_password(user_id: int, password: str) -> User:
    """Change a password; all other logins of the account end with it."""
    hashed = make_password(password)

    def job() -> User:
        user: User = User.objects.get(pk=user_id)
        user.password = hashed
        user.save(update_fields=["password"])
        return user

    return writer.write(job)


# ---------------------------------------------------------------------------------------------- devices


def device_cookie(user: AbstractBaseUser) -> str:
    """A signed cookie of a device that was logged in to this account. It expires with the password."""
    return signing.dumps([user.get_username(), secrets.token_urlsafe(12), _password_state(user)], salt=_DEVICE_SALT)


def device_of_cookie(cookie: str, username: str) -> str:
    """The device that a cookie was set on, '' where it is not one of this account."""
    try:
        name, device, state = signing.loads(cookie, salt=_DEVICE_SALT)
    except signing.BadSignature:
        return ""
    user = User.objects.filter(username=username).first() if name == username else None
    is_valid = user is not None and constant_time_compare(state, _password_state(user))
    return str(device) if is_valid else ""


def _password_state(user: AbstractBaseUser) -> str:
    return salted_hmac(_DEVICE_SALT, user.password, algorithm="sha256").hexdigest()[:32]
