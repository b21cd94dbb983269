"""What this server can lean on, by name: everything a request may refer to. Filled at start-up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.base.access import Actor
from agents.knowledge.runner.knowledge_base import Library
from agents.loop.inference.registry import Endpoints
from agents.loop.protocols.retrieval import Memory
from agents.loop.protocols.tools import ToolGroup
from agents.safety.providers.registry import Shields
from agents.tools.providers.mcp import Mcp

MakeMemory = Callable[[Actor, int, Mapping[str, Any]], Memory]
"""A memory for an actor, a session and the args of its group. Raises InvalidRequest."""


@dataclass(frozen=True, slots=True)
class Providers:
    """``tools`` are the settings' groups; ``mcp`` is the way to servers of more."""

    endpoints: Endpoints
    shields: Shields
    tools: Mapping[str, ToolGroup] = field(default_factory=dict)
    mcp: Mcp = field(default_factory=Mcp)
    tool_timeout_s: float = 60.0
    memory: Mapping[str, MakeMemory] = field(default_factory=dict)
    library: Library = field(default_factory=Library)
