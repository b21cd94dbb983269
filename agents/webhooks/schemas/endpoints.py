"""Endpoints of webhooks on the wire: OpenAI's ``/v1/webhook_endpoints``, and what it lacks: the deliveries."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema

from agents.base.addresses import MAX_URL
from agents.base.schemas.wire import Wire, WireOutput, null_is
from agents.webhooks.schemas.event_types import BY_NAME

KEY_PREFIX = "whsec_"
"""What a signing secret begins with; the rest is the key in base64."""
MAX_NAMED = 100
"""Types that a request names; each may be named more than once."""


def _known(name: str) -> str:
    if name not in BY_NAME:
        raise ValueError(f"there is no event of this type here; there are {', '.join(BY_NAME)}")
    return name


EventTypeName = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(BY_NAME)})]
EventTypeNames = Annotated[list[EventTypeName], Field(min_length=1, max_length=MAX_NAMED)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
EndpointUrl = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_URL),
    WithJsonSchema({"type": "string", "format": "uri", "pattern": "^https?://", "maxLength": MAX_URL}),
]


class CreateWebhookEndpoint(Wire):
    """``url`` takes the events, by POST; ``event_types`` are those it is sent."""

    name: Name
    url: EndpointUrl
    event_types: EventTypeNames


class UpdateWebhookEndpoint(Wire):
    """What is left out stays. ``enabled`` is ours: false stops all sending, true goes on."""

    name: Name | None = None
    url: EndpointUrl | None = None
    event_types: EventTypeNames | None = None
    enabled: bool | None = None


class RotateWebhookSecret(Wire):
    """``keep_old_secret_active_for_24_hours`` has both secrets sign for that long."""

    keep_old_secret_active_for_24_hours: Annotated[bool, null_is(False)] = False


class TestWebhookEndpoint(Wire):
    event_type: EventTypeName


class WebhookEndpointObject(WireOutput):
    """Times in seconds since 1970. Ours are ``enabled``, ``disabled_reason``, and ``failing_since``: since when nothing
    has arrived."""

    id: str
    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    name: str
    url: str
    event_types: list[str]
    created_at: int
    updated_at: int
    signing_secret_hint: str
    enabled: bool
    disabled_reason: str | None
    failing_since: int | None


class WebhookEndpointWithSecret(WebhookEndpointObject):
    """An endpoint as it is told once: when it was made, or its secret has been rotated."""

    signing_secret: str


class WebhookEndpointList(WireOutput):
    object: Literal["list"] = "list"
    data: list[WebhookEndpointObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class WebhookEndpointDeleted(WireOutput):
    id: str
    object: Literal["webhook_endpoint.deleted"] = "webhook_endpoint.deleted"
    deleted: bool = True


class WebhookEndpointTested(WireOutput):
    """What an endpoint answered to a sample event."""

    object: Literal["webhook_endpoint.test"] = "webhook_endpoint.test"
    event_type: str
    status_code: int
    success: Literal[True] = True
    webhook_endpoint_id: str


class WebhookEventTypeList(WireOutput):
    object: Literal["list"] = "list"
    data: list[str]


class WebhookDeliveryObject(WireOutput):
    """An event on its way to an endpoint, with the last attempt: ``id`` is the ``webhook-id`` of all attempts,
    ``error`` why there was no answer, ``answer`` the beginning of one. Times in seconds since 1970."""

    id: str
    object: Literal["webhook_delivery"] = "webhook_delivery"
    webhook_endpoint_id: str
    event_id: str
    event_type: str
    subject_id: str | None
    is_test: bool
    status: Literal["pending", "delivered", "failed"]
    attempts: int
    created_at: int
    tried_at: int | None
    next_attempt_at: int | None
    duration_ms: int | None
    status_code: int | None
    answer: str
    error: str | None


class WebhookDeliveryList(WireOutput):
    object: Literal["list"] = "list"
    data: list[WebhookDeliveryObject]
    first_id: str | None
    last_id: str | None
    has_more: bool
