"""Agents: what each is called, asks of its model and may do."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base import ids
from agents.log_tools.wire.bounds import one_line
from agents.log_tools.wire.rows import NAME_CHARS, PREVIEW_CHARS
from agents.record.schemas.agents import AgentConfig


@dataclass(frozen=True, slots=True)
class ListedAgent:
    """An agent of the list. ``hindrance`` says why it takes no turns; empty where it does."""

    key: int
    name: str
    model: str
    config: AgentConfig
    hindrance: str


def agent_text(agent: ListedAgent) -> str:
    """Write an agent."""
    config = agent.config
    groups = [group if isinstance(group, str) else group.name for group in config.toolgroups]
    tools = [*groups, *(tool.name for tool in config.client_tools)]
    facts = [
        f"agent {ids.public(ids.Kind.AGENT, agent.key)}",
        one_line(agent.name, NAME_CHARS) or "(no name)",
        f"model {one_line(agent.model, NAME_CHARS)}",
        f"tools {one_line(', '.join(tools), PREVIEW_CHARS)}" if tools else "",
        agent.hindrance,
    ]
    lines = [" | ".join(filter(None, facts))]
    lines += [f"  instructions: {one_line(config.instructions, PREVIEW_CHARS)}"] if config.instructions else []
    return "\n".join(lines)
