"""Endpoints of webhooks; and `verify`, for those who receive."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from turnlog.client import objects
from turnlog.client.logs import Listing
from turnlog.client.transport import Resource, S, Steps, ask, call, tell

TOLERANCE_S = 300
"""How far the clocks of both may be apart."""


class InvalidSignature(Exception):
    """A request that is not from the server that knows the secret, or is too old."""


def verify(payload: bytes, headers: Mapping[str, str], secret: str, *, now_s: float | None = None) -> dict[str, Any]:
    """Return the event of a request. Raises InvalidSignature. ``payload`` is the body as it came; ``secret`` begins
    with ``whsec_``. The same event may come again: its ``webhook-id`` stays the same."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        webhook_id, sent_at, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        age_s = (time.time() if now_s is None else now_s) - int(sent_at)
    except (KeyError, ValueError) as error:
        raise InvalidSignature("the headers of a webhook are missing or wrong") from error
    if abs(age_s) > TOLERANCE_S:
        raise InvalidSignature(f"sent {age_s:.0f} s ago, which is too far from now")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join((webhook_id.encode(), sent_at.encode(), payload))
    wanted = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    if not any([hmac.compare_digest(wanted, signature.encode()) for signature in signatures.split()]):
        raise InvalidSignature("no signature fits the secret")
    event: dict[str, Any] = json.loads(payload)
    return event


class EndpointChanges(TypedDict, total=False):
    name: str
    url: str
    event_types: Sequence[str]
    enabled: bool


class Webhooks(Resource[S]):
    @call
    def create(self, *, name: str, url: str, event_types: Sequence[str]) -> Steps[objects.WebhookEndpoint]:
        """Register a URL; the answer alone has the ``signing_secret``."""
        body = {"name": name, "url": url, "event_types": list(event_types)}
        return ask(objects.WebhookEndpoint, "POST", "webhook_endpoints", json=body)

    def list(self) -> Listing[S, objects.WebhookEndpoint]:
        pages = objects.Page[objects.WebhookEndpoint]
        return Listing(self._sender, lambda after: ask(pages, "GET", "webhook_endpoints", after=after))

    @call
    def get(self, endpoint_id: str) -> Steps[objects.WebhookEndpoint]:
        return ask(objects.WebhookEndpoint, "GET", _path(endpoint_id))

    @call
    def update(self, endpoint_id: str, **changes: Unpack[EndpointChanges]) -> Steps[objects.WebhookEndpoint]:
        """Change what is named; ``enabled=False`` stops all sending."""
        return ask(objects.WebhookEndpoint, "POST", _path(endpoint_id), json=changes)

    @call
    def delete(self, endpoint_id: str) -> Steps[None]:
        return tell("DELETE", _path(endpoint_id))

    @call
    def rotate_secret(self, endpoint_id: str, *, keep_old_for_a_day: bool = False) -> Steps[objects.WebhookEndpoint]:
        """Make a new ``signing_secret``."""
        body = {"keep_old_secret_active_for_24_hours": keep_old_for_a_day}
        return ask(objects.WebhookEndpoint, "POST", f"{_path(endpoint_id)}/rotate_secret", json=body)

    @call
    def test(self, endpoint_id: str, event_type: str) -> Steps[None]:
        """Have a sample sent at once. Raises InvalidRequest where the endpoint cannot be reached."""
        return tell("POST", f"{_path(endpoint_id)}/test", json={"event_type": event_type})

    def deliveries(self, endpoint_id: str) -> Listing[S, objects.Delivery]:
        """What was sent, newest first."""
        pages, path = objects.Page[objects.Delivery], f"{_path(endpoint_id)}/deliveries"
        return Listing(self._sender, lambda after: ask(pages, "GET", path, after=after))

    @call
    def resend(self, endpoint_id: str, delivery_id: str) -> Steps[objects.Delivery]:
        """Send it again, under the same ``webhook-id``."""
        return ask(objects.Delivery, "POST", f"{_path(endpoint_id)}/deliveries/{quote(delivery_id, safe='')}/resend")


def _path(endpoint_id: str) -> str:
    return f"webhook_endpoints/{quote(endpoint_id, safe='')}"
