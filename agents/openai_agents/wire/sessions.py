"""Encodes sessions and turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base import ids
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo

JSON = dict[str, Any]

TURN_STATUSES = {
    "queued": "queued",
    "in_progress": "in_progress",
    "awaiting_input": "waiting",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "failed",
}
"""The words for the statuses of turns."""
_SESSION_STATUSES = {"queued": "in_progress", "in_progress": "in_progress", "awaiting_input": "requires_action"}

_ERROR_CODES = {
    "timeout": "request_timeout",
    "context_length_exceeded": "context_length_exceeded",
    "connection_error": "connection_failed",
    "rate_limited": "rate_limit_exceeded",
    "storage_error": "internal_error",
    "server_error": "internal_error",
    "not_resumable": "internal_error",
    "invalid_request_error": "invalid_request",
    "model_not_budgetable": "invalid_request",
}
_BUDGET_CODES = {"session": "session_budget_exceeded", "server": "organization_spend_limit_exceeded"}
"""Whose budget is reached; for others it is a limit of usage."""
_STATUS_CODES = {
    401: "authentication_error",
    403: "authentication_error",
    404: "resource_not_found",
    408: "request_timeout",
    429: "rate_limit_exceeded",
    503: "server_overloaded",
}


@dataclass(frozen=True, slots=True)
class SpendControl:
    """What a session may spend, and has spent: in cents, whole ones of what it has. ``limit`` is None where there is
    none any more."""

    limit: int | None
    consumed: int
    is_reached: bool


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What a session says of itself whatever it does: ``agent`` as encoded, ``last_turn`` its key. Times are
    microseconds."""

    key: int
    agent: JSON
    created_at: int
    active_at: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    spend_control: SpendControl | None = None
    last_turn: int | None = None

    @property
    def is_over_budget(self) -> bool:
        """Whether the session has nothing left to spend."""
        return self.spend_control is not None and self.spend_control.is_reached

    @property
    def id(self) -> str:
        return session_id(self.key)


@dataclass(frozen=True, slots=True)
class TurnOfSession:
    """A turn without its steps, and the id that is shown for its agent. Times are microseconds."""

    key: int
    session: int
    agent_id: str
    status: str
    created_at: int
    completed_at: int | None = None
    error: ErrorInfo | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class SubagentHead:
    """A sub-agent of a session, by its first turn. ``parent`` is the id of the agent, or sub-agent, that called it.
    Times are microseconds; ``closed_at`` is None while it works."""

    turn: int
    session: int
    parent: str
    name: str
    task: str
    opened_at: int
    closed_at: int | None


def subagent_id(turn: int) -> str:
    return ids.part("subagent", ids.Kind.TURN, turn)


def subagent_json(subagent: SubagentHead) -> JSON:
    """Encode a sub-agent."""
    return {
        "id": subagent_id(subagent.turn),
        "object": "agent.session.subagent",
        "session_id": session_id(subagent.session),
        "parent_agent_id": subagent.parent,
        "name": subagent.name or None,
        "instructions": [{"type": "input_text", "text": subagent.task}],
        "opened_at": subagent.opened_at // 1_000_000,
        "closed_at": None if subagent.closed_at is None else subagent.closed_at // 1_000_000,
        "status": "active" if subagent.closed_at is None else "closed",
    }


def session_id(key: int) -> str:
    return ids.part("sess", ids.Kind.SESSION, key)


def turn_id(key: int) -> str:
    return ids.part("turn", ids.Kind.TURN, key)


def session_status(turn_status: str | None, *, is_over_budget: bool = False) -> str:
    """Return the status of a session by that of its last turn. It takes input again after a turn that failed."""
    idle = "budget_reached" if is_over_budget else "idle"
    return _SESSION_STATUSES.get(turn_status or "", idle)


def session_json(
    head: SessionHead, turn_status: str | None, actions: Sequence[JSON], *, is_over_budget: bool = False
) -> JSON:
    """Encode a session, whose last turn has this status and waits for these actions."""
    spend = head.spend_control
    return {
        "id": head.id,
        "object": "agent.session",
        "agent": head.agent,
        "created_at": head.created_at // 1_000_000,
        "last_active_at": head.active_at // 1_000_000,
        "environment": {"type": "none"},
        "error": None,
        "metadata": dict(head.metadata),
        "required_actions": list(actions) if turn_status == "awaiting_input" else [],
        "status": session_status(turn_status, is_over_budget=is_over_budget),
        "usage": usage_json(head.usage),
        "vault_ids": [],
        "prompt_cache_options": head.settings.get("prompt_cache_options"),
        "review": "none",
        "spend_control": {"consumed": spend.consumed, "limit": spend.limit} if spend else None,
    }


def usage_json(usage: Usage) -> JSON | None:
    """Encode the sum of tokens; None where none is known."""
    total = usage.input_tokens + usage.output_tokens
    if not total:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": total,
    }


def turn_json(turn: TurnOfSession) -> JSON:
    """Encode a turn."""
    status = TURN_STATUSES[turn.status]
    return {
        "id": turn_id(turn.key),
        "object": "agent.session.turn",
        "agent_id": turn.agent_id,
        "session_id": session_id(turn.session),
        "subagent_id": None,
        "created_at": turn.created_at // 1_000_000,
        "started_at": None if status == "queued" else turn.created_at // 1_000_000,
        "completed_at": None if turn.completed_at is None else turn.completed_at // 1_000_000,
        "status": status,
        "error": error_json(turn.status, turn.error) if status == "failed" else None,
        "usage": usage_json(turn.usage),
        "prompt_cache_options": None,
    }


def error_json(status: str, error: ErrorInfo | None) -> JSON:
    """Encode why a turn failed, with one of the codes that clients know."""
    if error is None:
        message = "The server stopped." if status == "interrupted" else "The turn failed."
        return {"code": "internal_error", "message": message}
    return {"code": error_code(error), "message": error.message}


def error_code(error: ErrorInfo) -> str:
    """Return the client's code of a failure."""
    if error.upstream_status is not None:
        status = error.upstream_status
        if error.type == "context_length_exceeded":
            return error.type
        return _STATUS_CODES.get(status, "server_error" if status >= 500 else "invalid_request")
    if error.budget is not None:
        return _BUDGET_CODES.get(error.budget, "usage_limit_exceeded")
    return _ERROR_CODES.get(error.type, "server_error" if error.provider else "internal_error")
