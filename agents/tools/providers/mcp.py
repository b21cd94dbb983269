"""Tools of MCP servers: what a server lists, as tools; a call of one, sent there.

What a server says is hostile: names, descriptions, schemas, results and the words of its errors are
looked at and cut here. The protocol itself is in ``mcp_client``, which is imported when a server is
first asked: the SDK takes a second and tens of megabytes.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args
from urllib.parse import urlsplit

import msgspec

from agents.base import addresses, redaction
from agents.base.errors import InvalidRequest
from agents.base.forwarded_headers import HEADERS_KEY, validate_headers
from agents.loop.protocols.tools import (
    InDoubtRule,
    Repeat,
    ServerToolGroup,
    ToolContext,
    ToolResult,
    failure,
    redact_result,
)
from agents.record.schemas.content import ToolDef

PROVIDER = "model-context-protocol"
LIST_S, CALL_S = 15.0, 60.0
MAX_TOOLS, MAX_DESCRIPTION, MAX_SCHEMA = 500, 8000, 64 * 1024

ANNOTATIONS = "annotations"
"""Where the metadata of a tool has what its server says of its effects."""
_HINTS = {
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class Server:
    """Where an MCP server is: at a URL, or a command of the operator's. ``trusted`` says that the
    operator named it, so that its address is not looked at. ``repeats`` says what repeated calls of its tools do, by
    their names or ``*``, where the operator knows better than the server says, and ``rules`` what is done about calls
    in doubt. The key of a call goes along in its ``_meta``, and as an argument or a header where these are named."""

    url: str = ""
    command: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trusted: bool = False
    repeats: Mapping[str, Repeat] = field(default_factory=dict)
    rules: Mapping[str, InDoubtRule] = field(default_factory=dict)
    key_argument: str = ""
    key_header: str = ""

    def repeat(self, tool: ToolDef) -> Repeat:
        """Return what a repeated call of a tool does: by the settings, else as the server says, else the worst."""
        told = self.repeats.get(tool.name) or self.repeats.get("*")
        if told:
            return told
        hints = (tool.metadata or {}).get(ANNOTATIONS) or {}
        return "read" if hints.get("readOnlyHint") else "idempotent" if hints.get("idempotentHint") else "write"

    def in_doubt(self, tool: ToolDef) -> InDoubtRule:
        """Return what is done about a call of a tool that is in doubt."""
        return self.rules.get(tool.name) or self.rules.get("*") or "wait"

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return _canonical(self.url) if self.url else f"the command {self.command[0]}"


@dataclass(frozen=True, slots=True)
class McpToolCall:
    """A call of a server's tool. ``key`` is the same for a call that is repeated; empty outside a turn."""

    tool: str
    arguments: dict[str, Any]
    key: str = ""


class McpFault(Exception):
    """A server did not do what it was asked. ``status`` is the last HTTP status that refused."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.message, self.status = message, status

    def redacted(self, secrets: Sequence[str]) -> McpFault:
        """The same fault, whose words do not tell them."""
        return McpFault(redaction.redact_error(self.message, secrets), self.status)


@dataclass(frozen=True, slots=True)
class ToolListing:
    """What a server said it has. ``note`` tells what of it was left out."""

    tools: Sequence[ToolDef]
    note: str = ""


@dataclass(slots=True)
class ConfiguredServer:
    """A server of the operator's, and what it last said it has: ``listed_at`` is microseconds, None
    before the first answer."""

    server: Server
    tools: Sequence[ToolDef] = ()
    note: str = ""
    listed_at: int | None = None


class McpClient:
    """The way to MCP servers. ``configured`` are the operator's, by group; ``allow_private`` lets URLs
    that users name lead into private networks; ``call_s`` is how long a call may take."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        configured: Mapping[str, ConfiguredServer] | None = None,
        call_s: float = CALL_S,
    ) -> None:
        self._allow_private, self._call_s = allow_private, call_s
        self.configured = dict(configured or {})
        self._client: Any = None

    async def check(self, url: str) -> None:
        """Whether a user may name this URL. Raises InvalidRequest."""
        await addresses.resolve(url, allow_private=self._allow_private)

    async def list(self, server: Server, provider_data: Mapping[str, Any] | None = None) -> ToolListing:
        """What a server has now. Raises McpFault, InvalidRequest."""
        headers = headers_for(server, provider_data or {})
        client, secrets = await self._loaded(), secrets_of(server, headers)
        try:
            entries = await client.list_tools(server, headers, allow_private=self._allow_private, seconds=LIST_S)
        except McpFault as fault:
            raise fault.redacted(secrets) from None
        return valid_tools(redaction.redact_json(entries, secrets))

    async def call(self, server: Server, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """The answer of a tool. Raises McpFault, InvalidRequest."""
        headers, key = headers_for(server, context.provider_data), context.call_key
        client, secrets = await self._loaded(), secrets_of(server, headers)
        if key and server.key_argument:
            arguments = {**arguments, server.key_argument: key}
        if key and server.key_header:
            headers = {**headers, server.key_header: key}
        try:
            result = await client.call_tool(
                server,
                headers,
                McpToolCall(name, arguments, key),
                allow_private=self._allow_private,
                seconds=self._call_s,
            )
        except McpFault as fault:
            raise fault.redacted(secrets) from None
        return redact_result(result, secrets)

    async def _loaded(self) -> Any:
        """The module that speaks the protocol; read in a thread, for it takes long."""
        if self._client is None:
            self._client = await asyncio.to_thread(importlib.import_module, "agents.tools.providers.mcp_client")
        return self._client


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of a server."""

    group: str
    definition: ToolDef
    server: Server
    mcp: McpClient

    @property
    def repeat(self) -> Repeat:
        return self.server.repeat(self.definition)

    @property
    def in_doubt(self) -> InDoubtRule:
        return self.server.in_doubt(self.definition)

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        try:
            return await self.mcp.call(self.server, self.definition.name, arguments, context)
        except McpFault as fault:
            return failure(fault.message)
        except InvalidRequest as error:
            return failure(error.message)


def group(
    name: str, server: Server, mcp: McpClient, tools: Sequence[ToolDef], *, args: Mapping[str, Any], note: str
) -> ServerToolGroup:
    """A server's tools as a group."""
    mcp_tools = [McpTool(name, definition, server, mcp) for definition in tools]
    return ServerToolGroup(name, PROVIDER, mcp_tools, args, server.url or None, note=note)


def configured(raw: Mapping[str, Any]) -> dict[str, ConfiguredServer]:
    """The operator's servers: ``{"group": {"url": …, "headers": {…}} or {"command": […]}}``, with what repeated calls
    do (``"repeat": "read"``, or by tool: ``{"lookup": "read"}``), what is done about calls in doubt (``"in_doubt"``,
    likewise) and where the key of a call goes (``"key_argument"``, ``"key_header"``). Raises ValueError."""
    return {name: ConfiguredServer(_server(name, entry)) for name, entry in raw.items()}


def _server(name: str, raw: Any) -> Server:
    is_valid = isinstance(raw, dict) and set(raw) <= {"url", "headers", "command", "repeat", "in_doubt", *_KEY_PLACES}
    if not is_valid or ("url" in raw) == ("command" in raw) or "/" in name:
        raise ValueError(f"MCP_SERVERS: {name}: give either a url (and headers) or a command")
    try:
        if "url" in raw:
            addresses.check_syntax(str(raw["url"]))
        headers = validate_headers(raw.get("headers") or {}, f"MCP_SERVERS: {name}")
    except InvalidRequest as error:
        raise ValueError(f"MCP_SERVERS: {name}: {error.message}") from None
    command = raw.get("command", [])
    if not isinstance(command, list) or not all(isinstance(part, str) for part in command):
        raise ValueError(f"MCP_SERVERS: {name}: a command is a list of texts")
    if "command" in raw and not command:
        raise ValueError(f"MCP_SERVERS: {name}: the command is empty")
    places = {place: raw.get(place, "") for place in _KEY_PLACES}
    if not all(isinstance(value, str) for value in places.values()) or ("command" in raw and places["key_header"]):
        raise ValueError(f"MCP_SERVERS: {name}: key_argument and key_header are names, the latter for a url only")
    repeats = _by_tool(name, raw, "repeat", get_args(Repeat))
    rules = _by_tool(name, raw, "in_doubt", get_args(InDoubtRule))
    return Server(str(raw.get("url", "")), command, headers, True, repeats, rules, **places)


_KEY_PLACES = ("key_argument", "key_header")


def _by_tool(name: str, raw: Mapping[str, Any], setting: str, choices: Sequence[str]) -> dict[str, Any]:
    """Read what is said of all tools (as ``*``), or of each by its name. Raises ValueError."""
    told = raw.get(setting)
    by_tool = {"*": told} if isinstance(told, str) else told or {}
    if not isinstance(by_tool, dict) or not all(value in choices for value in by_tool.values()):
        raise ValueError(f"MCP_SERVERS: {name}: {setting} is one of {', '.join(choices)}, or that by tool")
    return by_tool


# ------------------------------------------------------------------------------------------ listings


def valid_tools(entries: Sequence[Mapping[str, Any]]) -> ToolListing:
    """Tools as a server describes them: those that can be offered to a model, once each."""
    tools: dict[str, ToolDef] = {}
    omitted = 0
    for entry in entries[:MAX_TOOLS]:
        definition = _definition(entry)
        if definition is None or definition.name in tools:
            omitted += 1
        else:
            tools[definition.name] = definition
    omitted += max(0, len(entries) - MAX_TOOLS)
    return ToolListing(list(tools.values()), f"{omitted} of its tools cannot be offered to a model." if omitted else "")


def _definition(entry: Mapping[str, Any]) -> ToolDef | None:
    name, schema = str(entry.get("name", "")), entry.get("input_schema")
    if not _NAME.fullmatch(name) or not isinstance(schema, dict):
        return None
    try:
        size = len(msgspec.json.encode(schema))
    except (ValueError, RecursionError, TypeError):
        return None
    if size > MAX_SCHEMA or schema.get("type", "object") != "object":
        return None
    description = str(entry.get("description") or "")[:MAX_DESCRIPTION]
    parameters = {"type": "object", "properties": {}, **schema}
    return ToolDef(name=name, description=description, input_schema=parameters, metadata=_metadata(entry))


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a server says of the effects of a tool, where it says anything."""
    told = entry.get("annotations") or {}
    hints = {name: told.get(key) for key, name in _HINTS.items()}
    hints = {name: value for name, value in hints.items() if isinstance(value, bool)}
    return {ANNOTATIONS: hints} if hints else None


# ------------------------------------------------------------------------------------------- headers


def headers_for(server: Server, provider_data: Mapping[str, Any]) -> dict[str, str]:
    """The registered headers of a server, and over them those that came with the request for exactly
    this URL. Raises InvalidRequest."""
    if not server.url:
        return {}
    by_url = provider_data.get(HEADERS_KEY) or {}
    if not isinstance(by_url, dict):
        raise InvalidRequest(f"{HEADERS_KEY}: must be an object of URLs.", param=HEADERS_KEY)
    sent: dict[str, str] = {}
    for url, headers in by_url.items():
        if _canonical(str(url)) == _canonical(server.url):
            sent = validate_headers(headers, HEADERS_KEY)
    names = {name.lower() for name in sent}
    return {**{name: value for name, value in server.headers.items() if name.lower() not in names}, **sent}


def secrets_of(server: Server, headers: Mapping[str, str]) -> list[str]:
    """What a server is told that nobody else may hear: it may say it again."""
    return [*redaction.secrets_in_headers(headers), *redaction.secrets_in_url(server.url)]


def _canonical(url: str) -> str:
    """A URL as far as it names a server: without query, fragment and final slash."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
