"""Resolves tool groups to the tools of a turn, with unique names."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest
from agents.loop.extensions import extensions, no_group
from agents.loop.protocols.tools import ServerToolGroup, Tool, ToolWithArgs
from agents.loop.provider_set import Providers
from agents.loop.tool_groups import Args, group_args, group_name
from agents.record.schemas.agents import AgentToolGroup
from agents.record.schemas.content import ToolDef


def find(providers: Providers, actor: Actor, name: str, action: Action = "read") -> ServerToolGroup | None:
    """Find a group by its name, if the actor has the right to ``action``. A group of the settings comes first, so
    that no registered group can shadow it."""
    fixed = providers.tools.get(name)
    return fixed.acting_for(actor) if fixed else extensions.find_group(providers, actor, name, action)


def listing(providers: Providers, actor: Actor, action: Action = "read") -> list[ServerToolGroup]:
    """List all groups for which the actor has the right to ``action``, with the tools of their last listings."""
    fixed = (group.acting_for(actor) for group in providers.tools.values())
    return [*fixed, *extensions.list_groups(providers, actor, action)]


def server_tools(
    providers: Providers,
    actor: Actor,
    groups: Sequence[AgentToolGroup],
    client_tools: Sequence[ToolDef],
    args: Args | None = None,
    action: Action = "run",
) -> dict[str, Tool]:
    """Return the server's tools that a turn may use, by name. ``group`` means all tools of a group,
    ``group/tool`` one. Names are unique over server and client. Raises InvalidRequest."""
    tools: dict[str, Tool] = {}
    name_owners = {tool.name: "the client's own" for tool in client_tools}
    if len(name_owners) != len(client_tools):
        raise InvalidRequest("client_tools: names must be unique.", param="client_tools")
    group_arguments = group_args(groups) if args is None else args
    for group in groups:
        owner = f"group '{group_name(group)[:200]}'"
        for tool in _group_tools(providers, actor, group_name(group), group_arguments, action):
            name = tool.definition.name
            if name in name_owners:
                message = f"toolgroups: there are two tools named '{name}': {name_owners[name]} and {owner}."
                raise InvalidRequest(message, param="toolgroups")
            tools[name], name_owners[name] = tool, owner
    return tools


def _group_tools(
    providers: Providers, actor: Actor, name: str, group_arguments: Args, action: Action
) -> Sequence[Tool]:
    if name in providers.retrievers:
        return ()
    group_id, _, tool = name.partition("/")
    if group_id in extensions.groups_by_args:
        return _tools_by_args(providers, actor, group_id, tool, group_arguments)
    group = find(providers, actor, group_id, action)
    if group is None or not (group.tools or group.note):
        raise _not_found(providers, actor, name, action)
    if not group.tools:
        message = f"toolgroups: Tool group '{name[:200]}' has never said what it has: {group.note}"
        raise InvalidRequest(message, param="toolgroups", code="toolgroup_unlisted")
    chosen = [group.find(tool)] if tool else group.tools
    args = {**group.args, **group_arguments.get(group_id, {})}
    tools = [ToolWithArgs(tool_of_group, args) if args else tool_of_group for tool_of_group in chosen if tool_of_group]
    if not tools:
        raise _not_found(providers, actor, name, action)
    return tools


def _tools_by_args(providers: Providers, actor: Actor, name: str, tool: str, group_arguments: Args) -> Sequence[Tool]:
    """Return the tools of a group that its arguments make. Raises InvalidRequest."""
    if tool:
        message = f"toolgroups: '{name}' is taken as a whole; its arguments say what is in it."
        raise InvalidRequest(message, param="toolgroups", code="toolgroup_not_found")
    return extensions.groups_by_args[name](providers, actor, group_arguments.get(name, {}))


def _not_found(providers: Providers, actor: Actor, name: str, action: Action) -> InvalidRequest:
    names = {
        *providers.retrievers,
        *extensions.groups_by_args,
        *(group.name for group in listing(providers, actor, action)[:50]),
    }
    message = f"toolgroups: Tool group '{name[:200]}' not found. Available: {', '.join(sorted(names)) or 'none'}."
    if extensions.find_group is no_group:
        message += " The subject tools is not installed on this server."
    return InvalidRequest(message, param="toolgroups", code="toolgroup_not_found")
