"""The tables of webhooks: endpoints, events, and the deliveries of events to endpoints."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from agents.base.models.fields import KeyField, LongText, MomentField, ShortText
from agents.base.models.people import User
from agents.base.models.scoped import Scoped
from agents.record.models.references import DeletionRule
from agents.record.models.turns import Response, Turn


class WebhookEndpoint(Scoped):
    """A URL that hears of its owner's turns and responses; its owner and admins see it. ``event_types`` is a bit mask
    (`agents.webhooks.schemas.event_types`). ``secrets`` are sealed: the signing secret, and the one before it, which
    signs as well until ``old_secret_until``; ``secret_hint`` is its end. ``failing_since`` is when the first delivery
    failed after the last that arrived; ``disabled_at`` is set while nothing is sent, for a ``disabled_reason``."""

    id = KeyField()
    name = ShortText(max_length=200)
    url = ShortText(max_length=2000)
    event_types = models.BigIntegerField()
    secrets = LongText()
    secret_hint = models.CharField(max_length=8)
    old_secret_until = MomentField(null=True, blank=True)
    created_at = MomentField()
    updated_at = MomentField()
    failing_since = MomentField(null=True, blank=True)
    disabled_at = MomentField(null=True, blank=True)
    disabled_reason = ShortText(max_length=300, blank=True)

    class Meta(Scoped.Meta):
        verbose_name = "webhook endpoint"
        indexes = [
            # one's own, newest first; whether a turn that ends is anybody's to hear of
            models.Index(fields=["owner", "id"], name="webhook_endpoint_owner"),
        ]

    def __str__(self) -> str:
        return self.name


class WebhookEvent(models.Model):
    """Something that happened to a turn or a response, written in the same transaction. It *waits* until there is a
    delivery of it for each endpoint that hears of it; ``data`` are those of the payload, as JSON, once it does not.
    Only a sample has no ``turn``. With a deleted turn go its events: nothing tells of it any more."""

    id = KeyField()
    type = models.SmallIntegerField()
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    turn = models.ForeignKey(Turn, null=True, blank=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    response = models.ForeignKey(
        Response,
        null=True,
        blank=True,
        on_delete=DeletionRule(models.CASCADE, within="turn"),
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    data = LongText(blank=True)
    is_test = models.BooleanField(default=False)
    waits = models.BooleanField(default=True)
    created_at = MomentField()

    class Meta:
        indexes = [
            # those without deliveries, the oldest first
            models.Index(fields=["id"], name="webhook_event_waits", condition=Q(waits=True)),
            # those of a turn that is deleted
            models.Index(fields=["turn"], name="webhook_event_turn", condition=Q(turn__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"event {self.id}"


class DeliveryState(models.IntegerChoices):
    """A delivery is *pending* while it is tried, *failed* once it is given up."""

    PENDING = 1, "pending"
    DELIVERED = 2, "delivered"
    FAILED = 3, "failed"


class WebhookDelivery(models.Model):
    """An event on its way to an endpoint. ``due_at`` is when it is tried next; whoever tries it sets that to the time
    at which others may, should no result be stored by then, counts up ``attempts``, which names the attempt, and is
    the process it is ``claimed_by``. ``failures`` counts those since ``began_at``, when a day of trying began. The rest
    tells of the last attempt: ``answer`` is the beginning of the answer's body, ``error`` why there was none."""

    id = KeyField()
    event = models.ForeignKey(WebhookEvent, on_delete=models.CASCADE, related_name="deliveries")
    endpoint = models.ForeignKey(WebhookEndpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    state = models.SmallIntegerField(choices=DeliveryState.choices, default=DeliveryState.PENDING)
    began_at = MomentField()
    due_at = MomentField()
    attempts = models.IntegerField(default=0)
    failures = models.IntegerField(default=0)
    claimed_by = models.CharField(max_length=32, blank=True)
    tried_at = MomentField(null=True, blank=True)
    duration_us = models.BigIntegerField(null=True, blank=True)
    status_code = models.IntegerField(null=True, blank=True)
    answer = ShortText(max_length=1000, blank=True)
    error = ShortText(max_length=300, blank=True)

    class Meta:
        verbose_name = "webhook delivery"
        verbose_name_plural = "webhook deliveries"
        indexes = [
            # those of an endpoint, newest first, and their deletion
            models.Index(fields=["endpoint", "id"], name="webhook_delivery_endpoint"),
            # what is due
            models.Index(fields=["due_at"], name="webhook_delivery_due", condition=Q(state=DeliveryState.PENDING)),
        ]

    def __str__(self) -> str:
        return f"delivery {self.id}"
