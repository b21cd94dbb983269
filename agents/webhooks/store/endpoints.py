"""Endpoints of webhooks: each belongs to its owner, who and whose admins alone see it."""

from __future__ import annotations

import base64
import secrets as random_secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from agents.base import ids, redaction
from agents.base.access import Action, Actor, require
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import keyset, scopes, sealed
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none
from agents.webhooks.models import WebhookEndpoint
from agents.webhooks.schemas.endpoints import KEY_PREFIX
from agents.webhooks.schemas.event_types import mask_of, names_in
from agents.webhooks.store import deliveries

MAX_ENDPOINTS = 100
"""Endpoints of one owner: each of its turns may be sent to all of them."""
OLD_SECRET_US = 86_400_000_000
"""How long the secret before a rotation signs as well, where that was asked for."""
SECRET_BYTES, HINT_CHARS = 33, 4  # base64 of 33 needs no padding
SWITCHED_OFF = "switched off"
"""The reason of an endpoint that its owner has disabled."""


@dataclass(frozen=True, slots=True)
class EndpointRecord:
    """An endpoint. Times are microseconds since 1970; ``secret_hint`` is the end of its secret."""

    key: int
    name: str
    url: str
    event_types: Sequence[str]
    owner: str
    secret_hint: str
    old_secret_until: int | None
    created_at: int
    updated_at: int
    failing_since: int | None
    disabled_at: int | None
    disabled_reason: str

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.WEBHOOK_ENDPOINT, self.key)

    @property
    def shown_url(self) -> str:
        """The URL without the keys in it."""
        return redaction.redacted_url(self.url)


@dataclass(frozen=True, slots=True)
class EndpointChanges:
    """What is to change: None for what stays."""

    name: str | None = None
    url: str | None = None
    event_types: Sequence[str] | None = None
    enabled: bool | None = None


def create(actor: Actor, *, name: str, url: str, event_types: Sequence[str]) -> tuple[EndpointRecord, str]:
    """Register a URL that has been checked; returns its endpoint and its secret. Raises NotAllowed, and InvalidRequest
    where the actor has too many, or is no user."""
    require(actor, "manage")
    if actor.user_id is None:
        raise InvalidRequest("Only a user's turns are told to webhooks.", code="no_owner")
    key, now, secret = ids.new_key(), ids.now_us(), _new_secret()

    def job() -> None:
        if WebhookEndpoint.objects.unscoped("counted").filter(owner_id=actor.user_id).count() >= MAX_ENDPOINTS:
            raise InvalidRequest(f"You have {MAX_ENDPOINTS} endpoints: no more.", code="too_many_endpoints")
        WebhookEndpoint(
            pk=key,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
            name=name,
            url=url,
            event_types=mask_of(event_types),
            secrets=_sealed(key, secret),
            secret_hint=secret[-HINT_CHARS:],
            created_at=to_datetime(now),
            updated_at=to_datetime(now),
        ).save(force_insert=True)

    writer.write(job)
    return _record(_all().get(pk=key)), secret


def get(actor: Actor, public_id: str, action: Action = "read") -> EndpointRecord:
    """Return an endpoint of the actor's, or anyone's for an admin. Raises NotFound."""
    return _record(_row(actor, public_id, action))


def page(actor: Actor, cursor: Cursor) -> tuple[list[EndpointRecord], bool]:
    """Return a page of the actor's endpoints, and whether more follow. Raises InvalidRequest for an id that is none."""
    rows, has_more = keyset.page(_own(actor, "read"), keyset.bounds(ids.Kind.WEBHOOK_ENDPOINT, cursor), "pk")
    found = {row.pk: row for row in _all().filter(pk__in=[key for (key,) in rows])}
    return [_record(found[key]) for (key,) in rows if key in found], has_more


def change(actor: Actor, public_id: str, changes: EndpointChanges) -> EndpointRecord:
    """Change an endpoint, whose new URL has been checked. Raises NotFound."""
    now = to_datetime(ids.now_us())

    def job() -> int:
        row = _row(actor, public_id, "manage")
        before = {name: getattr(row, name) for name in _CHANGING}
        row.name, row.url = changes.name or row.name, changes.url or row.url
        if changes.event_types is not None:
            row.event_types = mask_of(changes.event_types)
        if changes.enabled is True:
            row.disabled_at, row.disabled_reason, row.failing_since = None, "", None
        elif changes.enabled is False and row.disabled_at is None:
            row.disabled_at, row.disabled_reason = now, SWITCHED_OFF
            deliveries.give_up(row.pk, SWITCHED_OFF)
        if before != {name: getattr(row, name) for name in _CHANGING}:
            row.updated_at = now
            row.save(force_update=True)
        return int(row.pk)

    return _record(_all().get(pk=writer.write(job)))


_CHANGING = ("name", "url", "event_types", "disabled_at", "failing_since")


def rotate_secret(actor: Actor, public_id: str, *, keeps_old: bool) -> tuple[EndpointRecord, str]:
    """Give an endpoint a new secret, which is returned; with ``keeps_old`` the one before it signs for another day.
    Raises NotFound."""
    now, secret = ids.now_us(), _new_secret()

    def job() -> int:
        row = _row(actor, public_id, "manage")
        old = (sealed.unseal(_context(row.pk), row.secrets) or {}).get("secret", "") if keeps_old else ""
        row.secrets, row.secret_hint = _sealed(row.pk, secret, old), secret[-HINT_CHARS:]
        row.old_secret_until = to_datetime(now + OLD_SECRET_US) if old else None
        row.updated_at = to_datetime(now)
        row.save(force_update=True)
        return int(row.pk)

    return _record(_all().get(pk=writer.write(job))), secret


def delete(actor: Actor, public_id: str) -> None:
    """Delete an endpoint, with its deliveries. Raises NotFound."""

    def job() -> None:
        key = _row(actor, public_id, "manage").pk
        deliveries.delete_of_endpoint(key)
        _all().filter(pk=key)._raw_delete("default")

    writer.write(job)


def secrets_of(key: int, sealed_secrets: str, old_until: int | None, now_us: int) -> list[str]:
    """Return the secrets that sign at a time, the newest first; none where they cannot be read any more."""
    secrets = sealed.unseal(_context(key), sealed_secrets) or {}
    names = ("secret", "old") if old_until is not None and now_us < old_until else ("secret",)
    return [secrets[name] for name in names if secrets.get(name)]


def _new_secret() -> str:
    return KEY_PREFIX + base64.b64encode(random_secrets.token_bytes(SECRET_BYTES)).decode()


def _context(key: int) -> str:
    return f"the webhook endpoint {key}"


def _sealed(key: int, secret: str, old: str = "") -> str:
    return sealed.seal(_context(key), {"secret": secret, "old": old} if old else {"secret": secret})


def _all() -> Any:
    return WebhookEndpoint.objects.unscoped("checked by the caller").annotate(owner_name=F("owner__username"))


def _own(actor: Actor, action: Action) -> Any:
    rows = WebhookEndpoint.objects.visible_to(actor, action)
    return rows if actor.is_admin else rows.filter(owner_id=actor.user_id or 0)


def _row(actor: Actor, public_id: str, action: Action) -> WebhookEndpoint:
    key = ids.parse_openai(ids.Kind.WEBHOOK_ENDPOINT, public_id)
    rows = _own(actor, action).annotate(owner_name=F("owner__username"))
    row: WebhookEndpoint | None = rows.filter(pk=key).first() if key is not None else None
    if row is None:
        raise NotFound(f"Webhook endpoint '{public_id[:80]}' not found.", code="webhook_endpoint_not_found")
    return row


def _record(row: Any) -> EndpointRecord:
    return EndpointRecord(
        key=row.pk,
        name=row.name,
        url=row.url,
        event_types=names_in(row.event_types),
        owner=row.owner_name or "",
        secret_hint=row.secret_hint,
        old_secret_until=us_or_none(row.old_secret_until),
        created_at=to_us(row.created_at),
        updated_at=to_us(row.updated_at),
        failing_since=us_or_none(row.failing_since),
        disabled_at=us_or_none(row.disabled_at),
        disabled_reason=row.disabled_reason,
    )
