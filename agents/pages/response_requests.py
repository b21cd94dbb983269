"""Build requests of the Responses API that repeat a response's request or continue from it, to send or to show."""

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
from agents.record.store.turns import AwaitedCall, TurnTarget
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.responses import begin_response
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord

JSON = dict[str, Any]

_NOT_REPEATED = (
    "model",
    "input",
    "previous_response_id",
    "conversation",
    "stream",
    "stream_options",
    "background",
    "store",
)
"""Fields of a request that a follow-up does not repeat."""


def last_response(actor: Actor, turn: int) -> ResponseRecord:
    """The response from which a turn is continued. Raises InvalidRequest if there is none."""
    records = responses.of_turn(actor, turn, "run")
    if not records or not records[-1].is_last:
        raise InvalidRequest("This turn has no agent, and its last response was deleted: it cannot go on.")
    return records[-1]


def is_of_responses(actor: Actor, target: TurnTarget) -> bool:
    """Tell whether a turn goes on by a response: it has no agent, or its agent was asked by one."""
    return target.agent is None or bool(responses.of_turn(actor, target.key, "run"))


def request_of(record: ResponseRecord) -> JSON:
    """A response's request as it was received, without secrets."""
    request: JSON = msgspec.json.decode(responses.request_of(record))
    return request


def follow_up(record: ResponseRecord, new_input: str | Sequence[JSON]) -> JSON:
    """The request that continues from a response, with the same model, tools and instructions: in its
    conversation if that ends with it, else by ``previous_response_id``."""
    settings = msgspec.json.decode(record.settings)
    repeated = {name: value for name, value in request_of(record).items() if name not in _NOT_REPEATED}
    conversation = (settings.get("conversation") or {}).get("id")
    continuation = {"previous_response_id": record.public_id}
    if conversation and record.ends_its_session:
        continuation = {"conversation": conversation}
    return {"model": settings["model"], "input": new_input, **continuation, **repeated}


def start_response(actor: Actor, request: JSON) -> str:
    """Start a response; returns the public id of its turn. Raises what `begin_response` raises."""
    try:
        body = CreateResponse.model_validate(request)
    except ValidationError as error:
        raise InvalidRequest("What this turn was asked with cannot be asked any more.") from error
    started = begin_response(service(), ResponseRequest(actor, body, msgspec.json.encode(request), None, {}))
    return ids.public(ids.Kind.TURN, started.turn)


def call_output(call: ToolCall, text: str) -> JSON:
    """The input item with a function's output for a call."""
    return {"type": "function_call_output", "call_id": call.call_id, "output": text}


def approval(pending: AwaitedCall, *, approve: bool, reason: str = "") -> JSON:
    """The input item that approves or refuses a call."""
    request_id = ids.part("mcpr", ids.Kind.STEP, pending.step)
    item = {"type": "mcp_approval_response", "approval_request_id": request_id, "approve": approve}
    return {**item, "reason": reason} if reason else item
