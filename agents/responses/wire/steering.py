"""Encodes what becomes of a client's steering, for OpenAI's ``response.steer`` events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agents.responses.schemas.client_calls import FORMS, KIND_OF_CALL

JSON = dict[str, Any]


def failed_fields(steer: JSON, code: str, message: str) -> JSON:
    """Return the fields of the event that gives back what was not said to the model."""
    return {"steer": steer, "error": {"type": "invalid_request_error", "code": code, "message": message}}


def pending_fields(steer: JSON, output: Iterable[bytes]) -> JSON:
    """Return the fields of the event that says what a response with this output waits for."""
    items = (msgspec.json.decode(item) for item in output)
    required = [stub for item in items if (stub := _required(item)) is not None]
    return {"steer": steer, "reason": "waiting_for_required_input", "required_input": required}


def _required(item: JSON) -> JSON | None:
    """Return what the client has to fill in for an item; None for one that asks nothing of it."""
    kind = item["type"]
    if kind == "function_call":
        return {"type": "function_call_output", "call_id": item["call_id"], "name": item["name"]}
    if kind == "mcp_approval_request":
        return {"type": "mcp_approval_response", "approval_request_id": item["id"]}
    if kind not in KIND_OF_CALL:
        return None
    more = {"execution": "client"} if kind == "tool_search_call" else {}
    return {"type": FORMS[KIND_OF_CALL[kind]].output_type, "call_id": item["call_id"], **more}
