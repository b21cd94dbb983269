"""Where webhooks are registered, tested and looked into."""

from __future__ import annotations

from django.urls import URLPattern, path

from agents.base.api.routes import Routes
from agents.base.lazy_import import LazyModule
from agents.webhooks.api import deliveries, endpoints

pages = LazyModule("agents.webhooks.pages")

_ONE = "webhook_endpoints/<str:webhook_endpoint_id>"
API = Routes(
    openai=[
        ("webhook_endpoints", endpoints.WebhookEndpoints),
        (_ONE, endpoints.WebhookEndpointDetail),
        (f"{_ONE}/rotate_secret", endpoints.WebhookSecretRotation),
        (f"{_ONE}/test", endpoints.WebhookTest),
        ("webhook_event_types", endpoints.WebhookEventTypes),
    ],
    rest=[
        (f"{_ONE}/deliveries", deliveries.WebhookDeliveries),
        (f"{_ONE}/deliveries/<str:delivery_id>", deliveries.WebhookDeliveryDetail),
        (f"{_ONE}/deliveries/<str:delivery_id>/resend", deliveries.WebhookResend),
    ],
)
PAGES: list[URLPattern] = [
    path("webhooks/", pages.endpoint_list, name="webhooks"),
    path("webhooks/<str:webhook_endpoint_id>/", pages.endpoint_page, name="webhook"),
    path("webhooks/<str:webhook_endpoint_id>/change/", pages.change, name="webhook-change"),
    path("webhooks/<str:webhook_endpoint_id>/rotate/", pages.rotate, name="webhook-rotate"),
    path("webhooks/<str:webhook_endpoint_id>/test/", pages.send_test, name="webhook-test"),
    path("webhooks/<str:webhook_endpoint_id>/delete/", pages.delete, name="webhook-delete"),
    path(
        "webhooks/<str:webhook_endpoint_id>/deliveries/<str:delivery_id>/resend/",
        pages.send_again,
        name="webhook-resend",
    ),
]
