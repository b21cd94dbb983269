"""A test of an endpoint: a sample event is sent at once, once, and stands among its deliveries."""

from __future__ import annotations

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict
from agents.base.reading import read
from agents.webhooks.runner.sending import attempt_delivery
from agents.webhooks.schemas.event_types import BY_NAME
from agents.webhooks.store import deliveries, endpoints
from agents.webhooks.store.deliveries import Outcome
from agents.webhooks.wire.payload import sample_data


async def send_sample(actor: Actor, endpoint_id: str, event_type: str) -> Outcome:
    """Send a sample event of a type; returns what became of it. Raises NotFound; Conflict where the endpoint is
    disabled."""
    endpoint, kind = await read(endpoints.get, actor, endpoint_id, "manage"), BY_NAME[event_type]
    if endpoint.disabled_at is not None:
        raise Conflict("The endpoint is disabled: enable it first.", code="webhook_endpoint_disabled")
    data = sample_data(kind, ids.new_key())
    return await attempt_delivery(await read(deliveries.claim_sample, endpoint.key, kind, data, ids.now_us()))
