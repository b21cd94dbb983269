"""Names and arguments of tool groups in agents and turns, and checks of the tool choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.base.errors import InvalidRequest
from agents.record.schemas.agents import AgentToolGroup
from agents.record.schemas.content import ToolConfig, ToolDef

Args = Mapping[str, Mapping[str, Any]]
"""Fixed arguments, which override the model's, by group."""


def group_name(group: AgentToolGroup) -> str:
    """Return the name of a group: ``group`` or ``group/tool``."""
    return group if isinstance(group, str) else group.name


def group_args(*lists: Sequence[AgentToolGroup]) -> Args:
    """Merge the arguments of lists of groups; each list overrides those before it (an agent's, a turn's)."""
    merged: dict[str, dict[str, Any]] = {}
    for group in (config for groups in lists for config in groups if not isinstance(config, str)):
        merged.setdefault(group.name.partition("/")[0], {}).update(group.args)
    return merged


def check_choice(config: ToolConfig, server: Iterable[str], client_tools: Sequence[ToolDef]) -> None:
    """Raise InvalidRequest if the choice names a tool that is none of these."""
    names = {*server, *(tool.name for tool in client_tools)}
    choice = config.tool_choice or "auto"
    if choice not in {"auto", "required", "none"} and choice not in names:
        message = f"tool_choice: there is no tool '{choice[:200]}'; say auto, required, none or the name of one."
        raise InvalidRequest(message, param="tool_choice")
