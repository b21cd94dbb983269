"""What was sent to an endpoint: its deliveries for those who see the endpoint, and sending one again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, NotFound
from agents.base.store import keyset
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none
from agents.webhooks.models import DeliveryState, WebhookDelivery
from agents.webhooks.schemas.event_types import BY_NUMBER
from agents.webhooks.store import endpoints, events
from agents.webhooks.store.endpoints import EndpointRecord


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A delivery with its last attempt. Times are microseconds since 1970; ``turn`` and ``response`` are what the event
    happened to, None in a sample."""

    key: int
    event: int
    event_type: str
    turn: int | None
    response: int | None
    is_test: bool
    state: str
    attempts: int
    created_at: int
    tried_at: int | None
    due_at: int
    duration_us: int | None
    status_code: int | None
    answer: str
    error: str

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.WEBHOOK_DELIVERY, self.key)

    @property
    def subject_id(self) -> str:
        """The id of what the event happened to; empty in a sample."""
        if self.response is not None:
            return ids.openai(ids.Kind.RESPONSE, self.response)
        return "" if self.turn is None else ids.public(ids.Kind.TURN, self.turn)


_COLUMNS = (
    *("pk", "event_id", "event__type", "event__turn_id", "event__response_id", "event__is_test", "state", "attempts"),
    *("event__created_at", "tried_at", "due_at", "duration_us", "status_code", "answer", "error"),
)


def page(endpoint: EndpointRecord, cursor: Cursor) -> tuple[list[DeliveryRecord], bool]:
    """Return a page of the deliveries to an endpoint that the actor was let into, and whether more follow. Raises
    InvalidRequest for an id that is none."""
    rows = WebhookDelivery.objects.filter(endpoint_id=endpoint.key)
    found, has_more = keyset.page(rows, keyset.bounds(ids.Kind.WEBHOOK_DELIVERY, cursor), *_COLUMNS)
    return [_record(*row) for row in found], has_more


def get(actor: Actor, endpoint_id: str, public_id: str, action: Action = "read") -> DeliveryRecord:
    """Return a delivery to an endpoint of the actor's. Raises NotFound."""
    endpoint = endpoints.get(actor, endpoint_id, action)
    key = ids.parse_openai(ids.Kind.WEBHOOK_DELIVERY, public_id)
    rows = WebhookDelivery.objects.filter(endpoint_id=endpoint.key, pk=key) if key is not None else None
    row = rows.values_list(*_COLUMNS).first() if rows is not None else None
    if row is None:
        raise NotFound(f"Webhook delivery '{public_id[:80]}' not found.", code="webhook_delivery_not_found")
    return _record(*row)


def send_again(actor: Actor, endpoint_id: str, public_id: str) -> DeliveryRecord:
    """Send a delivery at once, under the same id, and for another day if that fails. Raises NotFound; Conflict while
    its endpoint is disabled, and for a sample."""
    endpoint, delivery = endpoints.get(actor, endpoint_id, "manage"), get(actor, endpoint_id, public_id, "manage")
    if endpoint.disabled_at is not None:
        raise Conflict("The endpoint is disabled: enable it first.", code="webhook_endpoint_disabled")
    if delivery.is_test:
        raise Conflict("A sample is not sent again: make another test.", code="webhook_delivery_is_test")
    now = to_datetime(ids.now_us())
    rows = WebhookDelivery.objects.filter(pk=delivery.key)
    writer.write(lambda: rows.update(state=DeliveryState.PENDING, began_at=now, due_at=now, failures=0))
    events.news.tell()
    return get(actor, endpoint_id, public_id, "manage")


def _record(*row: Any) -> DeliveryRecord:
    key, event, kind, turn, response, is_test, state, attempts, created_at, tried_at, due_at, *outcome = row
    subject = BY_NUMBER[kind].name, turn, response, is_test
    times = to_us(created_at), us_or_none(tried_at), to_us(due_at)
    return DeliveryRecord(key, event, *subject, DeliveryState(state).label, attempts, *times, *outcome)
