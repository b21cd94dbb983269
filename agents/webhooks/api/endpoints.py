"""``/v1/webhook_endpoints``, as OpenAI's clients call it: made, listed, changed, deleted, tested; secrets rotated."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.views import ApiView, Awaited, answer
from agents.base.errors import InvalidRequest
from agents.base.reading import read
from agents.webhooks.runner.sending import check_url
from agents.webhooks.runner.testing import send_sample
from agents.webhooks.schemas.endpoints import (
    CreateWebhookEndpoint,
    RotateWebhookSecret,
    TestWebhookEndpoint,
    UpdateWebhookEndpoint,
    WebhookEndpointDeleted,
    WebhookEndpointList,
    WebhookEndpointObject,
    WebhookEndpointTested,
    WebhookEndpointWithSecret,
    WebhookEventTypeList,
)
from agents.webhooks.schemas.event_types import EVENT_TYPES
from agents.webhooks.store import endpoints
from agents.webhooks.store.endpoints import EndpointChanges, EndpointRecord


def _values(record: EndpointRecord) -> dict[str, Any]:
    return {
        "id": record.public_id,
        "name": record.name,
        "url": record.url,
        "event_types": list(record.event_types),
        "created_at": record.created_at // 1_000_000,
        "updated_at": record.updated_at // 1_000_000,
        "signing_secret_hint": f"whsec_…{record.secret_hint}",
        "enabled": record.disabled_at is None,
        "disabled_reason": record.disabled_reason or None,
        "failing_since": None if record.failing_since is None else record.failing_since // 1_000_000,
    }


def _with_secret(made: tuple[EndpointRecord, str]) -> HttpResponseBase:
    record, secret = made
    return answer(WebhookEndpointWithSecret(**_values(record), signing_secret=secret))


class WebhookEndpoints(ApiView):
    """The caller's endpoints, and a new one: its URL is checked as it will be when it is sent to."""

    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_webhook_endpoints", parameters=CURSOR_PARAMETERS, responses=WebhookEndpointList)
    def get(self, request: Request) -> HttpResponseBase:
        records, has_more = endpoints.page(self.actor, cursor(request._request))
        data = [WebhookEndpointObject(**_values(record)) for record in records]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(WebhookEndpointList(data=data, first_id=first, last_id=last, has_more=has_more))

    @extend_schema(
        operation_id="create_webhook_endpoint", request=CreateWebhookEndpoint, responses=WebhookEndpointWithSecret
    )
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateWebhookEndpoint = self.body(CreateWebhookEndpoint)

        async def work() -> HttpResponseBase:
            await check_url(body.url)
            create = partial(endpoints.create, self.actor, name=body.name, url=body.url, event_types=body.event_types)
            return _with_secret(await read(create))

        return Awaited(work)


class WebhookEndpointDetail(ApiView):
    actions = {"get": "read", "post": "manage", "delete": "manage"}

    @extend_schema(operation_id="get_webhook_endpoint", responses=WebhookEndpointObject)
    def get(self, request: Request, webhook_endpoint_id: str) -> HttpResponseBase:
        return answer(WebhookEndpointObject(**_values(endpoints.get(self.actor, webhook_endpoint_id))))

    @extend_schema(
        operation_id="update_webhook_endpoint", request=UpdateWebhookEndpoint, responses=WebhookEndpointObject
    )
    def post(self, request: Request, webhook_endpoint_id: str) -> HttpResponseBase:
        body: UpdateWebhookEndpoint = self.body(UpdateWebhookEndpoint)
        endpoints.get(self.actor, webhook_endpoint_id, "manage")  # whose it is, before what is wrong with the URL
        changes = EndpointChanges(body.name, body.url, body.event_types, body.enabled)

        async def work() -> HttpResponseBase:
            if body.url is not None:
                await check_url(body.url)
            record = await read(endpoints.change, self.actor, webhook_endpoint_id, changes)
            return answer(WebhookEndpointObject(**_values(record)))

        return Awaited(work)

    @extend_schema(operation_id="delete_webhook_endpoint", responses=WebhookEndpointDeleted)
    def delete(self, request: Request, webhook_endpoint_id: str) -> HttpResponseBase:
        """Delete an endpoint with its deliveries; what it has not been sent yet it will not be."""
        endpoints.delete(self.actor, webhook_endpoint_id)
        return answer(WebhookEndpointDeleted(id=webhook_endpoint_id))


class WebhookSecretRotation(ApiView):
    actions = {"post": "manage"}

    @extend_schema(
        operation_id="rotate_webhook_secret", request=RotateWebhookSecret, responses=WebhookEndpointWithSecret
    )
    def post(self, request: Request, webhook_endpoint_id: str) -> HttpResponseBase:
        body: RotateWebhookSecret = self.body(RotateWebhookSecret) if self.raw.strip() else RotateWebhookSecret()
        keeps_old = body.keep_old_secret_active_for_24_hours
        return _with_secret(endpoints.rotate_secret(self.actor, webhook_endpoint_id, keeps_old=keeps_old))


class WebhookTest(ApiView):
    """Sends a sample event at once, and tells the status of the answer, whatever it is."""

    actions = {"post": "manage"}

    @extend_schema(operation_id="test_webhook_endpoint", request=TestWebhookEndpoint, responses=WebhookEndpointTested)
    def post(self, request: Request, webhook_endpoint_id: str) -> HttpResponseBase:
        body: TestWebhookEndpoint = self.body(TestWebhookEndpoint)

        async def work() -> HttpResponseBase:
            outcome = await send_sample(self.actor, webhook_endpoint_id, body.event_type)
            if outcome.status_code is None:
                # not a 5xx: clients would repeat it by themselves, and each time a sample is sent
                message = f"The endpoint could not be reached: {outcome.error}"
                raise InvalidRequest(message, code="webhook_endpoint_unreachable", param="url")
            return answer(
                WebhookEndpointTested(
                    event_type=body.event_type,
                    status_code=outcome.status_code,
                    webhook_endpoint_id=webhook_endpoint_id,
                )
            )

        return Awaited(work)


class WebhookEventTypes(ApiView):
    """The types of events that there are here."""

    actions = {"get": "read"}

    @extend_schema(operation_id="list_webhook_event_types", responses=WebhookEventTypeList)
    def get(self, request: Request) -> HttpResponseBase:
        return answer(WebhookEventTypeList(data=[kind.name for kind in EVENT_TYPES]))
