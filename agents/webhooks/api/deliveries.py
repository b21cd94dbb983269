"""What was sent to an endpoint, with the answers; and sending it again. Ours: OpenAI has it on a page alone."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.views import ApiView, answer
from agents.webhooks.schemas.endpoints import WebhookDeliveryList, WebhookDeliveryObject
from agents.webhooks.store import delivery_log, endpoints
from agents.webhooks.store.delivery_log import DeliveryRecord


def _delivery_object(record: DeliveryRecord, endpoint_id: str) -> WebhookDeliveryObject:
    return WebhookDeliveryObject(
        id=record.public_id,
        webhook_endpoint_id=endpoint_id,
        event_id=ids.openai(ids.Kind.WEBHOOK_EVENT, record.event),
        event_type=record.event_type,
        subject_id=record.subject_id or None,
        is_test=record.is_test,
        status=record.state,
        attempts=record.attempts,
        created_at=record.created_at // 1_000_000,
        tried_at=None if record.tried_at is None else record.tried_at // 1_000_000,
        next_attempt_at=record.due_at // 1_000_000 if record.state == "pending" else None,
        duration_ms=None if record.duration_us is None else record.duration_us // 1000,
        status_code=record.status_code,
        answer=record.answer,
        error=record.error or None,
    )


class WebhookDeliveries(ApiView):
    """The deliveries to an endpoint, the newest first."""

    actions = {"get": "read"}

    @extend_schema(operation_id="list_webhook_deliveries", parameters=CURSOR_PARAMETERS, responses=WebhookDeliveryList)
    def get(self, request: Request, webhook_endpoint_id: str) -> HttpResponseBase:
        endpoint = endpoints.get(self.actor, webhook_endpoint_id)
        records, has_more = delivery_log.page(endpoint, cursor(request._request))
        data = [_delivery_object(record, webhook_endpoint_id) for record in records]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(WebhookDeliveryList(data=data, first_id=first, last_id=last, has_more=has_more))


class WebhookDeliveryDetail(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="get_webhook_delivery", responses=WebhookDeliveryObject)
    def get(self, request: Request, webhook_endpoint_id: str, delivery_id: str) -> HttpResponseBase:
        record = delivery_log.get(self.actor, webhook_endpoint_id, delivery_id)
        return answer(_delivery_object(record, webhook_endpoint_id))


class WebhookResend(ApiView):
    """Sends a delivery again, under the same ``webhook-id``, whether it had arrived or not."""

    actions = {"post": "manage"}

    @extend_schema(operation_id="resend_webhook_delivery", request=None, responses=WebhookDeliveryObject)
    def post(self, request: Request, webhook_endpoint_id: str, delivery_id: str) -> HttpResponseBase:
        record = delivery_log.send_again(self.actor, webhook_endpoint_id, delivery_id)
        return answer(_delivery_object(record, webhook_endpoint_id))
