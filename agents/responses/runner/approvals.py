"""Decisions on calls of MCP servers, for clients that keep the history themselves.

Such a client sends the request for approval and its decision in one input. Where the turn that asked is in the log, it
goes on; else the call is made first in the turn that the decision begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base import ids
from agents.loop.run import ApprovedCall
from agents.responses.schemas.input_items import ApprovalItem, ApprovalRequestItem, OtherItem
from agents.responses.schemas.messages import approved_call


def with_decisions(items: Sequence[Any]) -> list[Any]:
    """Return the items, with the client's decision at each request for approval that nothing has followed yet."""
    decisions = {item.approval_request_id: item for item in items if isinstance(item, ApprovalItem)}
    if not decisions:
        return list(items)
    made = {_asked(item) for item in items if isinstance(item, OtherItem) and item.type == "mcp_call"}
    return [
        _decided(item, decisions[item.id])
        if isinstance(item, ApprovalRequestItem) and item.id in decisions and item.id not in made
        else item
        for item in items
    ]


def _decided(item: ApprovalRequestItem, decision: ApprovalItem) -> ApprovalRequestItem:
    how = "approved" if decision.approve else "refused"
    return item.model_copy(update={"decision": how, "reason": decision.reason})


def _asked(call: OtherItem) -> Any:
    return (call.__pydantic_extra__ or {}).get("approval_request_id")


def approved_calls(items: Sequence[Any]) -> list[ApprovedCall]:
    """Return the calls that an input approves."""
    return [
        ApprovedCall(approved_call(item), ids.parse_part(ids.Kind.STEP, item.id or ""), item.server_label)
        for item in with_decisions(items)
        if isinstance(item, ApprovalRequestItem) and item.decision == "approved"
    ]
