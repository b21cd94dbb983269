"""The admin of webhooks: the endpoints of all users, and what was sent there. Endpoints are made on their page, where
their secret is shown; here they are looked at, switched on and off, and deleted."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from agents.base import ids, redaction
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.uikit.admin import cell_html
from agents.uikit.admin.base import ReadAdmin, StoreAdmin
from agents.uikit.admin.column_mixins import OwnershipColumns, TimestampColumns
from agents.uikit.admin.current_actor import actor_of
from agents.webhooks.models import DeliveryState, WebhookDelivery, WebhookEndpoint
from agents.webhooks.schemas.event_types import BY_NUMBER, names_in
from agents.webhooks.store import endpoints
from agents.webhooks.store.endpoints import EndpointChanges

_STATUS = {
    DeliveryState.PENDING: "queued",
    DeliveryState.DELIVERED: "completed",
    DeliveryState.FAILED: "failed",
}


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(TimestampColumns, OwnershipColumns, StoreAdmin):
    kind = Kind.WEBHOOK_ENDPOINT
    id_columns = {Kind.WEBHOOK_ENDPOINT: "pk"}
    delete_action = "manage"
    prefetched = ("owner",)
    deferred = ("secrets",)
    actions = ("enable", "disable", *StoreAdmin.actions)
    list_display = ("title", "address", "events", "state", "owned_by", "created")
    search_help_text = _("A part of the name or the URL.")
    fieldsets = (
        (None, {"fields": ("title", "address", "events", "hint")}),
        (_("State"), {"fields": ("state", "reason", "failing", "created", "updated")}),
        (_("Access"), {"fields": ("public_id", "owned_by", "scope_label")}),
    )

    def search(self, request: HttpRequest, rows: Any, text: str) -> Any:
        return rows.filter(Q(name__icontains=text) | Q(url__icontains=text))

    def delete_record(self, actor: Actor, key: int) -> None:
        endpoints.delete(actor, ids.openai(Kind.WEBHOOK_ENDPOINT, key))

    @admin.action(permissions=["delete"], description=_("Enable selected endpoints"))
    def enable(self, request: HttpRequest, queryset: Any) -> None:
        self._switch(request, queryset, enabled=True)

    @admin.action(permissions=["delete"], description=_("Disable selected endpoints"))
    def disable(self, request: HttpRequest, queryset: Any) -> None:
        self._switch(request, queryset, enabled=False)

    def _switch(self, request: HttpRequest, rows: Any, *, enabled: bool) -> None:
        if self.too_many(request, rows):
            return
        keys = list(rows.values_list("pk", flat=True))
        for key in keys:
            public_id = ids.openai(Kind.WEBHOOK_ENDPOINT, key)
            endpoints.change(actor_of(request), public_id, EndpointChanges(enabled=enabled))
        message = ngettext("%(count)d endpoint changed.", "%(count)d endpoints changed.", len(keys))
        self.message_user(request, message % {"count": len(keys)}, messages.SUCCESS)

    @admin.display(description=_("name"))
    def title(self, endpoint: WebhookEndpoint) -> str:
        return cell_html.text_cell(endpoint.name)

    @admin.display(description=_("URL"))
    def address(self, endpoint: WebhookEndpoint) -> str:
        return cell_html.text_cell(redaction.redacted_url(endpoint.url))

    @admin.display(description=_("events"))
    def events(self, endpoint: WebhookEndpoint) -> str:
        return cell_html.text_cell(", ".join(names_in(endpoint.event_types)))

    @admin.display(description=_("secret"))
    def hint(self, endpoint: WebhookEndpoint) -> str:
        return cell_html.text_cell(f"whsec_…{endpoint.secret_hint}")

    @admin.display(description=_("state"))
    def state(self, endpoint: WebhookEndpoint) -> str:
        if endpoint.disabled_at:
            return cell_html.state("cancelled", _now("disabled"))
        if endpoint.failing_since:
            return cell_html.state("failed", _now("failing"))
        return cell_html.state("completed", _now("enabled"))

    @admin.display(description=_("disabled because"))
    def reason(self, endpoint: WebhookEndpoint) -> str:
        return cell_html.text_cell(endpoint.disabled_reason)

    @admin.display(description=_("failing since"))
    def failing(self, endpoint: WebhookEndpoint) -> str:
        return cell_html.timestamp(endpoint.failing_since)


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadAdmin):
    """What was sent to the endpoints that the reader sees."""

    prefetched = ("endpoint", "event")
    list_display = ("tried", "receiver", "event_type", "state_text", "attempts", "status_code", "error")
    fields = (*list_display, "answer", "next_try")

    def get_queryset(self, request: HttpRequest) -> Any:
        seen = WebhookEndpoint.objects.visible_to(actor_of(request))
        return super().get_queryset(request).filter(endpoint__in=seen.values("pk"))

    @admin.display(description=_("tried"))
    def tried(self, delivery: WebhookDelivery) -> str:
        return cell_html.timestamp(delivery.tried_at)

    @admin.display(description=_("endpoint"))
    def receiver(self, delivery: WebhookDelivery) -> str:
        return cell_html.text_cell(delivery.endpoint.name)

    @admin.display(description=_("event"))
    def event_type(self, delivery: WebhookDelivery) -> str:
        return cell_html.text_cell(BY_NUMBER[delivery.event.type].name)

    @admin.display(description=_("state"))
    def state_text(self, delivery: WebhookDelivery) -> str:
        state = DeliveryState(delivery.state)
        return cell_html.state(_STATUS[state], _now(state.label))

    @admin.display(description=_("next attempt"))
    def next_try(self, delivery: WebhookDelivery) -> str:
        waits = delivery.state == DeliveryState.PENDING
        return cell_html.timestamp(delivery.due_at) if waits else cell_html.NOTHING
