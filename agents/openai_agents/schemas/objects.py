"""Objects that OpenAI's Agents API answers with, for its description. Timestamps are seconds since 1970."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from agents.base.schemas.wire import WireOutput

T = TypeVar("T")
Json = dict[str, Any]


class SavedAgent(WireOutput):
    id: str
    object: Literal["agent"]
    created_at: int
    updated_at: int
    name: str | None
    model: str
    instructions: str | None
    metadata: dict[str, str]
    multi_agent: Json
    reasoning: Json
    service_tier: str
    text: Json
    tools: list[Json]
    compaction: Json | None
    experimental: Json | None


class AgentSessionObject(WireOutput):
    id: str
    object: Literal["agent.session"]
    agent: Json
    created_at: int
    last_active_at: int
    environment: Json
    error: str | None
    metadata: dict[str, str]
    required_actions: list[Json]
    status: Literal["idle", "in_progress", "requires_action", "failed", "budget_reached"]
    usage: Json | None
    vault_ids: list[str]
    prompt_cache_options: Json | None
    review: Literal["none", "auto_review"]
    spend_control: Json | None


class AgentTurnObject(WireOutput):
    id: str
    object: Literal["agent.session.turn"]
    agent_id: str
    session_id: str
    subagent_id: str | None
    created_at: int
    started_at: int | None
    completed_at: int | None
    status: Literal["queued", "in_progress", "waiting", "completed", "failed", "cancelled"]
    error: Json | None
    usage: Json | None
    prompt_cache_options: Json | None


class SessionItem(WireOutput):
    """One item of a session: a message, reasoning, a call or its output. The fields depend on its type."""

    id: str
    type: str
    turn_id: str


class SessionEvent(WireOutput):
    """One event of a session's stream. The fields depend on its type."""

    type: str
    event_id: str


class SubagentObject(WireOutput):
    id: str
    object: Literal["agent.session.subagent"]
    session_id: str
    parent_agent_id: str
    name: str | None
    instructions: list[Json] | None
    opened_at: int
    closed_at: int | None
    status: Literal["active", "closed"]


class TraceObject(WireOutput):
    id: str
    object: Literal["agent.session.trace"]
    created_at: int
    session_id: str
    otlp: Json


class AgentsPage(WireOutput, Generic[T]):
    object: Literal["list"]
    data: list[T]
    first_id: str | None
    last_id: str | None
    has_more: bool


class SavedAgentPage(AgentsPage[SavedAgent]):
    """Saved agents, by default the newest first."""


class AgentSessionPage(AgentsPage[AgentSessionObject]):
    """Sessions, by default the newest first."""


class AgentTurnPage(AgentsPage[AgentTurnObject]):
    """Turns of a session, by default the newest first."""


class SessionItemPage(AgentsPage[Json]):
    """Items of a session or a turn, by default the newest first."""


class SubagentPage(AgentsPage[SubagentObject]):
    """Sub-agents of a session, by default the newest first."""


class TracePage(AgentsPage[TraceObject]):
    """Traces of a session's turns, by default the newest first."""


class NothingPage(AgentsPage[Json]):
    """A list of what this server has none of."""


class AgentRemoved(WireOutput):
    id: str
    object: Literal["agent.deleted", "agent.session.deleted"]
    deleted: Literal[True]
