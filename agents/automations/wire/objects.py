"""Encodes automations and their runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from agents.automations.schemas.records import AutomationRecord, RunRecord
from agents.base import ids
from agents.openai_agents.wire.agents import session_agent_json
from agents.openai_agents.wire.sessions import session_id, turn_id
from agents.record.schemas.agents import AgentConfig

JSON = dict[str, Any]
_NOT_OF_INLINE = ("id", "name")
"""What the agent of a session has, and one that is not stored has not."""


def automation_json(record: AutomationRecord) -> JSON:
    """Encode an automation, without anything confidential."""
    head = {
        "id": record.public_id,
        "object": "agent.automation",
        "type": "periodic" if record.is_periodic else "once",
        "name": record.name,
        "status": record.status,
        "pause_reason": record.pause_reason or None,
        "target": target_json(record.target.body),
        "created_at": record.created_at // 1_000_000,
        "created_by": {"type": "developer"},
        "metadata": dict(record.metadata),
        "next_run_at": None if record.next_at is None else record.next_at // 1_000_000,
    }
    schedule = record.schedule
    if record.is_periodic:
        return {**head, "expression": schedule.expression, "timezone": schedule.timezone}
    return {**head, "run_at": (schedule.run_at or 0) // 1_000_000}


def target_json(stored: Mapping[str, Any]) -> JSON:
    """Encode what an automation says to whom."""
    if stored["type"] == "existing_session":
        session = session_id(stored["session"])
        return {"type": "existing_session", "session_id": session, "instructions": stored["instructions"]}
    agent = None
    if stored["config"] is not None:
        agent_json = session_agent_json("", AgentConfig.model_validate(stored["config"]))
        agent = {name: value for name, value in agent_json.items() if name not in _NOT_OF_INLINE}
    return {
        "type": "new_session",
        "agent": agent,
        "agent_id": stored["agent_id"],
        "environment": {"type": "none"},
        "input": stored["input"],
        "metadata": stored["metadata"],
        "vault_ids": [],
    }


def invocation_json(record: RunRecord) -> JSON:
    """Encode a run."""
    automation = msgspec.json.decode(record.snapshot) if record.snapshot else None
    is_over = record.state in ("completed", "failed")
    return {
        "id": record.public_id,
        "object": "agent.automation.invocation",
        "automation_id": ids.openai(ids.Kind.AUTOMATION, record.automation),
        "status": record.state,
        "created_at": record.created_at // 1_000_000,
        "scheduled_at": None if record.scheduled_at is None else record.scheduled_at // 1_000_000,
        "session_id": session_id(record.session) if record.state == "completed" else None,
        "turn_id": None if record.turn is None else turn_id(record.turn),
        "skip_reason": "pending_delivery" if record.state == "skipped" else None,
        "error": {"code": record.error_code, "message": record.error} if is_over and record.error_code else None,
        "source": {"type": "manual"} if automation is None else {"type": "automation", "automation": automation},
    }
