"""The pages of webhooks: one's endpoints, and of each what was sent there, with the answers.

A secret is shown in the response to the form that made it, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from agents.base import ids
from agents.base.access import require
from agents.base.api.cursors import cursor
from agents.base.errors import AgentsError, InvalidRequest
from agents.base.run_sync import run_on_loop
from agents.uikit import forms
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at
from agents.webhooks.runner.sending import check_url
from agents.webhooks.runner.testing import send_sample
from agents.webhooks.schemas.endpoints import CreateWebhookEndpoint, TestWebhookEndpoint, UpdateWebhookEndpoint
from agents.webhooks.schemas.event_types import EVENT_TYPES
from agents.webhooks.store import delivery_log, endpoints
from agents.webhooks.store.delivery_log import DeliveryRecord
from agents.webhooks.store.endpoints import MAX_ENDPOINTS, EndpointChanges, EndpointRecord

MEANINGS = {
    "turn.completed": gettext_noop("a turn has its answer"),
    "turn.failed": gettext_noop("a turn has failed"),
    "turn.cancelled": gettext_noop("a turn was cancelled, or waited too long"),
    "turn.interrupted": gettext_noop("a turn was lost with its process"),
    "turn.awaiting_input": gettext_noop("a turn waits for answers to calls, or for an approval"),
    "turn.in_doubt": gettext_noop("a turn waits for a decision about a call"),
    "response.completed": gettext_noop("a response in the background is done"),
    "response.failed": gettext_noop("a response in the background has failed"),
    "response.cancelled": gettext_noop("a response in the background was cancelled"),
    "response.incomplete": gettext_noop("a background response reached a limit"),
    "agent.session.idle": gettext_noop("an agent's session is idle"),
    "agent.session.action_required": gettext_noop("an agent's session waits for its client"),
}
"""When each type of event is sent."""
_FIELDS = {
    "name": gettext_noop("A name of at most 200 characters is required."),
    "url": gettext_noop("A URL of at most 2,000 characters is required."),
    "event_types": gettext_noop("Choose at least one event."),
    "event_type": gettext_noop("Choose an event."),
}
"""What is said where the form's value of a field is refused."""
REASONS = {
    "switched off": gettext_noop("It is disabled."),
    "nothing has arrived here for three days": gettext_noop(
        "No delivery succeeded for three days, so nothing more was sent."
    ),
    "it answered 410 Gone": gettext_noop("It answered 410 Gone, so deliveries were stopped."),
}
"""Why an endpoint is disabled, in the reader's language."""
PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A delivery in the list, with the link to what its event happened to; empty in a sample."""

    delivery: DeliveryRecord
    subject_url: str


# ------------------------------------------------------------------------------------------------ lists


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def endpoint_list(request: PageRequest) -> HttpResponse:
    """Render the endpoints; a POST makes one, and renders its page with its secret."""
    if request.method != "POST":
        return _list(request)
    require(request.actor, "manage")
    try:
        body = forms.parsed(CreateWebhookEndpoint, _form_of(request), _FIELDS)
        run_on_loop(check_url(body.url))
        record, secret = endpoints.create(request.actor, name=body.name, url=body.url, event_types=body.event_types)
    except InvalidRequest as error:
        return _list(request, error=error, status=400)
    return _detail(request, record, secret=secret, status=201)


def _list(request: PageRequest, *, error: InvalidRequest | None = None, status: int = 200) -> HttpResponse:
    records, _more = endpoints.page(request.actor, cursor(request, MAX_ENDPOINTS))
    sent = _form_of(request) if error else {"name": "", "url": "", "event_types": ["turn.completed", "turn.failed"]}
    context = {
        "endpoints": records,
        "error": error,
        "form": sent,
        "kinds": _kinds(sent["event_types"]),
        "shows_owner": request.actor.is_admin,
        "may_manage": "manage" in request.actor.actions,
    }
    return render(request, "webhooks/endpoints.html", context, status=status)


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD"])
def endpoint_page(request: PageRequest, webhook_endpoint_id: str) -> HttpResponse:
    return _detail(request, endpoints.get(request.actor, webhook_endpoint_id))


def _detail(
    request: PageRequest,
    endpoint: EndpointRecord,
    *,
    secret: str = "",
    error: InvalidRequest | None = None,
    status: int = 200,
) -> HttpResponse:
    deliveries, has_more = delivery_log.page(endpoint, cursor(request, PAGE_SIZE))
    stored = {"name": endpoint.name, "url": endpoint.url, "event_types": list(endpoint.event_types)}
    form = _form_of(request) if error else stored
    context = {
        "endpoint": endpoint,
        "secret": secret,
        "error": error,
        "form": form,
        "kinds": _kinds(form["event_types"]),
        "reason": _(REASONS.get(endpoint.disabled_reason, endpoint.disabled_reason)),
        "rows": [DeliveryRow(delivery, _subject_url(delivery)) for delivery in deliveries],
        "older": deliveries[-1].public_id if has_more else "",
        "may_manage": "manage" in request.actor.actions,
    }
    return render(request, "webhooks/endpoint.html", context, status=status)


def _subject_url(delivery: DeliveryRecord) -> str:
    return "" if delivery.turn is None else at(f"/turns/{ids.public(ids.Kind.TURN, delivery.turn)}/")


def _kinds(chosen: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return the types of events for a form: the name, when it is sent, whether it is chosen."""
    return [(kind.name, _(MEANINGS[kind.name]), kind.name in chosen) for kind in EVENT_TYPES]


# ---------------------------------------------------------------------------------------------- changes


@page("manage")
@require_POST
def change(request: PageRequest, webhook_endpoint_id: str) -> HttpResponse:
    """Change an endpoint, or switch it on or off by ``enabled``."""
    endpoint = endpoints.get(request.actor, webhook_endpoint_id, "manage")
    if "enabled" in request.POST:
        changes = EndpointChanges(enabled=request.POST["enabled"] == "true")
    else:
        try:
            body = forms.parsed(UpdateWebhookEndpoint, _form_of(request), _FIELDS)
            run_on_loop(check_url(body.url or ""))
        except InvalidRequest as error:
            return _detail(request, endpoint, error=error, status=400)
        changes = EndpointChanges(body.name, body.url, body.event_types)
    endpoints.change(request.actor, webhook_endpoint_id, changes)
    return redirect("webhook", webhook_endpoint_id)


@page("manage")
@never_cache
@require_POST
@sensitive_variables("secret")
def rotate(request: PageRequest, webhook_endpoint_id: str) -> HttpResponse:
    """Rotate the secret, and render the page with the new one."""
    keeps_old = "keep" in request.POST
    record, secret = endpoints.rotate_secret(request.actor, webhook_endpoint_id, keeps_old=keeps_old)
    return _detail(request, record, secret=secret)


@page("manage")
@require_POST
def send_test(request: PageRequest, webhook_endpoint_id: str) -> HttpResponse:
    endpoint = endpoints.get(request.actor, webhook_endpoint_id, "manage")
    try:
        body = forms.parsed(TestWebhookEndpoint, {"event_type": request.POST.get("event_type", "")}, _FIELDS)
        outcome = run_on_loop(send_sample(request.actor, webhook_endpoint_id, body.event_type))
    except AgentsError as error:
        messages.error(request, error.message)
    else:
        if outcome.status_code is None:
            messages.error(request, _("“%(name)s” could not be reached.") % {"name": endpoint.name})
        else:
            told = {"name": endpoint.name, "status": outcome.status_code}
            tell = messages.success if outcome.arrived else messages.error
            tell(request, _("“%(name)s” has answered %(status)s.") % told)
    return redirect("webhook", webhook_endpoint_id)


@page("manage")
@require_POST
def send_again(request: PageRequest, webhook_endpoint_id: str, delivery_id: str) -> HttpResponse:
    delivery_log.send_again(request.actor, webhook_endpoint_id, delivery_id)
    messages.success(request, _("It is sent again."))
    return redirect("webhook", webhook_endpoint_id)


@page("manage")
@require_POST
def delete(request: PageRequest, webhook_endpoint_id: str) -> HttpResponse:
    endpoints.delete(request.actor, webhook_endpoint_id)
    return redirect("webhooks")


def _form_of(request: PageRequest) -> dict[str, Any]:
    """Return the values that the form of an endpoint sent."""
    name, url = (request.POST.get(field, "").replace("\0", "") for field in ("name", "url"))
    return {"name": name, "url": url.strip(), "event_types": request.POST.getlist("event_types")}
