"""The groups of tools there are for an actor: the settings' first, which nobody can shadow, then the
MCP servers registered over the API that it sees.

What a server has is remembered from its last listing; a turn never asks for it. It is asked when it
is registered, and when someone looks at a group whose listing is old.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import AgentsError, Conflict, InvalidRequest, NotAuthenticated, NotFound, ProviderError
from agents.base.forwarded_headers import validate_headers
from agents.base.reading import read
from agents.loop.extensions import extensions
from agents.loop.protocols.tools import ServerToolGroup
from agents.loop.provider_set import Providers
from agents.record.schemas.content import ToolDef
from agents.tools import store as toolgroups
from agents.tools.providers import mcp
from agents.tools.providers.mcp import McpClient, McpFault, Server
from agents.tools.store import GroupRecord, NewGroup

log = logging.getLogger(__name__)

MAX_LISTING_AGE_US = 300_000_000
"""Age of a listing from which it is read anew when someone looks at it."""
_refreshing: dict[str, asyncio.Task[None]] = {}


@dataclass(frozen=True, slots=True)
class McpGroup:
    """An MCP server under its name: of the settings (``key`` None) or registered."""

    name: str
    server: Server
    args: Mapping[str, Any]
    tools: Sequence[ToolDef]
    listed_at: int | None
    note: str
    key: int | None = None

    @property
    def is_old(self) -> bool:
        return self.listed_at is not None and ids.now_us() - self.listed_at > MAX_LISTING_AGE_US

    def group(self, providers: Providers) -> ServerToolGroup:
        return mcp.group(self.name, self.server, providers.part(McpClient), self.tools, args=self.args, note=self.note)


def find_mcp(providers: Providers, actor: Actor, name: str, action: Action = "read") -> McpGroup | None:
    """The MCP server of this name, if the actor sees one and may do this with it."""
    fixed = providers.part(McpClient).configured.get(name)
    if fixed:
        return McpGroup(name, fixed.server, {}, fixed.tools, fixed.listed_at, fixed.note)
    if name in providers.tools:
        return None
    record = toolgroups.find(actor, name, action)
    return _registered(record) if record else None


def mcp_listing(providers: Providers, actor: Actor, action: Action = "read") -> list[McpGroup]:
    """All MCP servers the actor sees and may do this with."""
    fixed = [
        McpGroup(name, entry.server, {}, entry.tools, entry.listed_at, entry.note)
        for name, entry in providers.part(McpClient).configured.items()
    ]
    reserved = {*providers.tools, *providers.part(McpClient).configured}
    return [*fixed, *(_registered(entry) for entry in toolgroups.listing(actor, action) if entry.name not in reserved)]


def mcp_group(providers: Providers, actor: Actor, name: str, action: Action) -> ServerToolGroup | None:
    """An MCP server as a group of tools, for `agents.loop.toolset`."""
    group = find_mcp(providers, actor, name, action)
    return group.group(providers) if group else None


def mcp_groups(providers: Providers, actor: Actor, action: Action) -> list[ServerToolGroup]:
    """All MCP servers as groups of tools."""
    return [group.group(providers) for group in mcp_listing(providers, actor, action)]


def _registered(record: GroupRecord) -> McpGroup:
    server = Server(record.uri, headers=record.headers)
    return McpGroup(record.name, server, record.args, record.tools, record.listed_at, record.note, record.key)


# ------------------------------------------------------------------------------------------- register


def check_new(providers: Providers, name: str, provider_id: str, uri: str, args: Mapping[str, Any]) -> NewGroup | None:
    """A group that may be registered; None for one of the settings' that is there as wished. Raises
    InvalidRequest, Conflict."""
    fixed = providers.tools.get(name)
    if fixed and not uri and not args and provider_id in (fixed.provider_id, *fixed.provider_ids):
        return None
    if fixed or _is_reserved(providers, name):
        message = f"toolgroup_id: '{name[:200]}' is a group of this server's settings."
        raise Conflict(message, param="toolgroup_id", code="toolgroup_of_the_settings")
    if "/" in name:
        raise InvalidRequest(
            "toolgroup_id: must not hold a '/', which parts a group from a tool.", param="toolgroup_id"
        )
    if provider_id != mcp.PROVIDER:
        message = f"provider_id: '{provider_id[:100]}' takes no groups; register MCP servers, with {mcp.PROVIDER}."
        raise InvalidRequest(message, param="provider_id")
    if not uri:
        raise InvalidRequest('mcp_endpoint: is needed: {"uri": …}.', param="mcp_endpoint")
    plain_args = dict(args)
    headers = validate_headers(plain_args.pop("headers", None) or {}, "args.headers")
    return NewGroup(name, provider_id, uri, plain_args, headers)


def _is_reserved(providers: Providers, name: str) -> bool:
    """Tell whether a name is that of a group of the settings or of this server other than `Providers.tools`."""
    return any(name in groups for groups in (providers.part(McpClient).configured, *_per_turn_groups(providers)))


def _per_turn_groups(providers: Providers) -> tuple[Container[str], Container[str]]:
    """Return the names of groups whose tools are made for each turn."""
    return providers.retrievers, extensions.groups_by_args


async def register(providers: Providers, actor: Actor, new: NewGroup, provider_data: Mapping[str, Any]) -> int:
    """Register a server and ask it what it has; returns its key. One that does not answer is
    registered all the same, with a note. Raises InvalidRequest for a URL that may not be asked,
    Conflict."""
    await providers.part(McpClient).check(new.uri)
    record = await read(toolgroups.register, actor, new)
    await refresh(providers, _registered(record), provider_data)
    return record.key


async def revise(providers: Providers, actor: Actor, key: int, new: NewGroup) -> None:
    """Change a registered server and ask it again, as `register` does. Raises NotFound too."""
    await providers.part(McpClient).check(new.uri)
    record = await read(toolgroups.revise, actor, key, new)
    await refresh(providers, _registered(record), {})


async def refresh_registered(providers: Providers, actor: Actor, key: int) -> McpFault | None:
    """Ask a registered server what it has now. Raises NotFound."""
    return await refresh(providers, _registered(await read(toolgroups.get, actor, key, "manage")), {})


def unregister(providers: Providers, actor: Actor, name: str) -> None:
    """Raises NotFound; InvalidRequest for a group of the settings."""
    if name in providers.tools or _is_reserved(providers, name):
        message = f"toolgroup_id: '{name[:200]}' is a group of this server's settings."
        raise InvalidRequest(message, param="toolgroup_id", code="toolgroup_of_the_settings")
    toolgroups.unregister(actor, name)


# ------------------------------------------------------------------------------------------- listings


async def refresh(providers: Providers, group: McpGroup, provider_data: Mapping[str, Any]) -> McpFault | None:
    """Ask a server what it has, and remember it. Its fault is remembered as a note, and returned: the
    tools stay those of the last listing."""
    try:
        listing = await providers.part(McpClient).list(group.server, provider_data)
    except McpFault as fault:
        await _store_listing(providers, group, None, fault.message)
        return fault
    await _store_listing(providers, group, listing.tools, listing.note)
    return None


async def listed_group(
    providers: Providers, actor: Actor, name: str, provider_data: Mapping[str, Any], action: Action = "read"
) -> ServerToolGroup:
    """A group with its tools, by its name or that of one of its tools. An MCP server is asked only
    where it never answered; an old listing is read anew afterwards. Raises NotFound, and the server's
    fault where there is nothing to show."""
    group_id = name.partition("/")[0]
    group = await read(find_mcp, providers, actor, group_id, action)
    if group is None:
        return _fixed(providers, group_id, name)
    if group.listed_at is None:
        fault = await refresh(providers, group, provider_data)
        if fault:
            raise listing_error(name, fault)
        group = await read(find_mcp, providers, actor, group_id, action) or group
    elif group.is_old:
        _refresh_soon(providers, group, provider_data)
    return group.group(providers)


def _fixed(providers: Providers, group_id: str, name: str) -> ServerToolGroup:
    group = providers.tools.get(group_id)
    if group is None and not any(group_id in groups for groups in _per_turn_groups(providers)):
        raise not_found(name)
    return group or ServerToolGroup(group_id)


def _refresh_soon(providers: Providers, group: McpGroup, provider_data: Mapping[str, Any]) -> None:
    """Read a listing anew, once at a time for a group, and after this request."""
    name = f"{group.key} {group.name}"
    if name in _refreshing:
        return
    work = _refresh_logged(providers, group, provider_data)
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    _refreshing[name] = task
    task.add_done_callback(lambda _: _refreshing.pop(name, None))


async def _refresh_logged(providers: Providers, group: McpGroup, provider_data: Mapping[str, Any]) -> None:
    try:
        await refresh(providers, group, provider_data)
    except Exception:
        # a task of nobody's: the last listing stays, and the log says why it is old
        log.exception("group=%s: its tools could not be listed", group.name)


async def refresh_configured(providers: Providers) -> None:
    """Ask those of the operator's servers that have not answered yet."""
    unanswered = [
        (name, configured_server)
        for name, configured_server in providers.part(McpClient).configured.items()
        if configured_server.listed_at is None
    ]
    groups = [
        McpGroup(
            name,
            configured_server.server,
            {},
            configured_server.tools,
            configured_server.listed_at,
            configured_server.note,
        )
        for name, configured_server in unanswered
    ]
    await asyncio.gather(*(refresh(providers, group, {}) for group in groups))


async def _store_listing(providers: Providers, group: McpGroup, tools: Sequence[ToolDef] | None, note: str) -> None:
    if group.key is not None:
        await read(toolgroups.store_listing, group.key, tools, note)
        return
    configured_server = providers.part(McpClient).configured[group.name]
    configured_server.note = note
    if tools is not None:
        configured_server.tools, configured_server.listed_at = tools, ids.now_us()


def listing_error(name: str, fault: McpFault) -> AgentsError:
    """A server's fault as an answer to who asked for its tools."""
    message = f"Tool group '{name[:200]}': {fault.message}"
    if fault.status == 401:
        return NotAuthenticated(message, code="mcp_unauthorized")
    error = ProviderError(message, provider=name[:200], upstream_status=fault.status)
    error.headers["x-should-retry"] = "false"
    return error


def not_found(name: str) -> NotFound:
    return NotFound(f"Tool group '{name[:200]}' not found.", code="toolgroup_not_found")
