"""Responses asked for in the test's own process, and what their requests say."""

from __future__ import annotations

import json
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.loop import current_service
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.responses import begin_response
from agents.responses.schemas.requests import CreateResponse
from tests.support.live.caller import script

LOOKUP = {
    "type": "function",
    "name": "lookup_order",
    "parameters": {
        "type": "object",
        "properties": {"order": {"type": "integer", "description": "The order's number"}},
        "required": ["order"],
    },
}


def respond(actor: Actor, *lines: str, given: Any = None, **more: Any) -> tuple[str, str]:
    """The public ids of a response whose model performs these lines (or that was ``given`` an input), and
    of its turn. Needs a service that plays turns."""
    request = {"model": "scripted/fast", "input": script(*lines) if given is None else given, **more}
    body = CreateResponse.model_validate(request)
    begun = begin_response(
        current_service.service(), ResponseRequest(actor, body, json.dumps(request).encode(), None, {})
    )
    return begun.head.id, ids.public(ids.Kind.TURN, begun.turn)
