"""The tools of a turn: groups are resolved, names are unique."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest
from agents.loop.extensions import extensions, no_group
from agents.loop.protocols.tools import Tool, ToolGroup, ToolWithArgs
from agents.loop.provider_set import Providers
from agents.loop.tool_groups import Args, group_args, group_name
from agents.record.schemas.agents import AgentToolGroup
from agents.record.schemas.content import ToolDef


def find(providers: Providers, actor: Actor, name: str, action: Action = "read") -> ToolGroup | None:
    """The group of this name, if the actor sees one and may do this with it: the settings' first, which nobody can
    shadow."""
    fixed = providers.tools.get(name)
    return fixed.acting_for(actor) if fixed else extensions.find_group(providers, actor, name, action)


def listing(providers: Providers, actor: Actor, action: Action = "read") -> list[ToolGroup]:
    """All groups the actor sees and may do this with, with the tools of their last listings."""
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
    """The server's tools a turn may use, by name. ``group`` means all of a group, ``group/tool``
    one. Names are unique over server and client. Raises InvalidRequest."""
    tools: dict[str, Tool] = {}
    places = {tool.name: "the client's own" for tool in client_tools}
    if len(places) != len(client_tools):
        raise InvalidRequest("client_tools: names must be unique.", param="client_tools")
    given = group_args(groups) if args is None else args
    for group in groups:
        place = f"group '{group_name(group)[:200]}'"
        for tool in _group(providers, actor, group_name(group), given, action):
            name = tool.definition.name
            if name in places:
                words = f"toolgroups: there are two tools named '{name}': {places[name]} and {place}."
                raise InvalidRequest(words, param="toolgroups")
            tools[name], places[name] = tool, place
    return tools


def _group(providers: Providers, actor: Actor, name: str, given: Args, action: Action) -> Sequence[Tool]:
    if name in providers.memory:
        return ()
    group_id, _, tool = name.partition("/")
    group = find(providers, actor, group_id, action)
    if group is None or not (group.tools or group.note):
        raise _not_found(providers, actor, name, action)
    if not group.tools:
        words = f"toolgroups: Tool group '{name[:200]}' has never said what it has: {group.note}"
        raise InvalidRequest(words, param="toolgroups", code="toolgroup_unlisted")
    chosen = [group.find(tool)] if tool else group.tools
    args = {**group.args, **given.get(group_id, {})}
    found = [ToolWithArgs(one, args) if args else one for one in chosen if one]
    if not found:
        raise _not_found(providers, actor, name, action)
    return found


def _not_found(providers: Providers, actor: Actor, name: str, action: Action) -> InvalidRequest:
    names = {*providers.memory, *(one.name for one in listing(providers, actor, action)[:50])}
    words = f"toolgroups: Tool group '{name[:200]}' not found. Available: {', '.join(sorted(names)) or 'none'}."
    if extensions.find_group is no_group:
        words += " The subject tools is not installed on this server."
    return InvalidRequest(words, param="toolgroups", code="toolgroup_not_found")
