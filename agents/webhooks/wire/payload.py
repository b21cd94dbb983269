"""The payload of an event: OpenAI's, in which ``data`` name what it happened to and hold nothing of its content."""

from __future__ import annotations

import msgspec

from agents.base import ids
from agents.openai_agents.wire.sessions import session_id
from agents.webhooks.schemas.event_types import SESSION_ACTION_REQUIRED, EventType

FUNCTION_CALL, APPROVAL = "function_call", "mcp_approval_request"
"""What a session may wait for, in OpenAI's words."""


def payload(key: int, kind: EventType, created_at: int, data: str) -> bytes:
    """Encode an event, the same at each attempt; ``created_at`` is in microseconds since 1970, ``data`` is JSON."""
    return msgspec.json.encode(
        {
            "id": ids.openai(ids.Kind.WEBHOOK_EVENT, key),
            "object": "event",
            "created_at": created_at // 1_000_000,
            "type": kind.name,
            "data": msgspec.Raw(data.encode()),
        }
    )


def response_data(response: int) -> str:
    """Encode the data of an event of a response: as OpenAI's, its id alone."""
    return msgspec.json.encode({"id": ids.openai(ids.Kind.RESPONSE, response)}).decode()


def turn_data(turn: int, session: int, agent: int | None) -> str:
    """Encode the data of an event of a turn: all that its URL in the Agents API needs."""
    return msgspec.json.encode(
        {
            "id": ids.public(ids.Kind.TURN, turn),
            "session_id": ids.public(ids.Kind.SESSION, session),
            "agent_id": None if agent is None else ids.public(ids.Kind.AGENT, agent),
        }
    ).decode()


def session_data(session: int, required_action: str | None) -> str:
    """Encode the data of an event of a session of OpenAI's Agents API, as that has them: what it waits for, or where
    its programs run."""
    data: dict[str, object] = {"id": session_id(session)}
    if required_action is None:
        return msgspec.json.encode({**data, "environment_type": "none"}).decode()
    return msgspec.json.encode({**data, "required_action": {"type": required_action}}).decode()


def sample_data(kind: EventType, key: int) -> str:
    """Encode data that look like those of such an event, and lead nowhere."""
    match kind.subject:
        case "response":
            return response_data(key)
        case "session":
            return session_data(key, FUNCTION_CALL if kind is SESSION_ACTION_REQUIRED else None)
        case "turn":
            return turn_data(key, key, key)
