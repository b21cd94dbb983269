"""Requests of the Responses API that a page makes, or tells how to make: what was asked once, asked
again or gone on from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop.current_service import service
from agents.record.schemas.content import ToolCall
from agents.record.store.turns import AwaitedCall
from agents.responses.runner.responses import Asked, begin
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord

JSON = dict[str, Any]

_OF_ITS_OWN = (
    "model",
    "input",
    "previous_response_id",
    "conversation",
    "stream",
    "stream_options",
    "background",
    "store",
)
"""Fields of a request that those which go on from it do not repeat."""


def last_of(actor: Actor, turn: int) -> ResponseRecord:
    """The response by which a turn is continued. Raises InvalidRequest where there is none."""
    found = responses.of_turn(actor, turn, "run")
    if not found or not found[-1].is_last:
        raise InvalidRequest("This turn has no agent, and its last response was deleted: it cannot go on.")
    return found[-1]


def request_of(record: ResponseRecord) -> JSON:
    """A response's request as it was received, without its secrets."""
    found: JSON = msgspec.json.decode(responses.request_of(record))
    return found


def continued(record: ResponseRecord, given: str | Sequence[JSON]) -> JSON:
    """The request that goes on from a response: same model, tools and instructions, in its conversation
    while that ends with it, else behind the response."""
    settings = msgspec.json.decode(record.settings)
    before = {name: value for name, value in request_of(record).items() if name not in _OF_ITS_OWN}
    conversation = (settings.get("conversation") or {}).get("id")
    place = {"previous_response_id": record.public_id}
    if conversation and record.ends_its_session:
        place = {"conversation": conversation}
    return {"model": settings["model"], "input": given, **place, **before}


def ask(actor: Actor, request: JSON) -> str:
    """Begin a response; returns the public id of its turn. Raises what beginning one raises."""
    try:
        body = CreateResponse.model_validate(request)
    except ValidationError as error:
        raise InvalidRequest("What this turn was asked with cannot be asked any more.") from error
    begun = begin(service(), Asked(actor, body, msgspec.json.encode(request), None, {}))
    return ids.public(ids.Kind.TURN, begun.turn)


def output(call: ToolCall, words: str) -> JSON:
    """What the client's function gave for a call."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": words}


def approval(pending: AwaitedCall, *, approve: bool, reason: str = "") -> JSON:
    """The client's word on a call it was asked about."""
    request_id = ids.part("mcpr", ids.Kind.STEP, pending.step)
    word = {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": approve}
    return {**word, "reason": reason} if reason else word
