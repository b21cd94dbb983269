"""The Model Context Protocol, spoken by the official SDK: streamable HTTP, SSE where a server knows no
better, and commands of the operator's.

Each request is a connection of its own, to an address that was checked and to no other. Imported by
``mcp`` when it is first needed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic_core import to_json

from agents.base import addresses, tracing
from agents.base.errors import InvalidRequest
from agents.loop.protocols.tools import ToolResult
from agents.record.schemas.content import ContentItem, ImageData, ImageItem, TextItem, text_of
from agents.tools.providers.mcp import MAX_TOOLS, McpFault, McpToolCall, Server
from turnlog import __version__

T = TypeVar("T")

CONNECT_S = 5.0
MAX_ANSWER_BYTES = 64 * 2**20
"""Bytes of one answer."""
MAX_PAGES = 20
MAX_ERROR_CHARS = 500
"""Characters of a server's own words in our errors."""
_INFO = types.Implementation(name="turnlog", version=__version__)
_WRONG_TRANSPORT_STATUSES = frozenset({400, 404, 405, 406, 415, 501})
"""What servers that speak SSE only answer to a POST."""
LISTED = {"name", "description", "input_schema", "annotations"}
CALL_KEY = "idempotencyKey"
"""Where ``_meta`` of a call has its key."""
MAX_KNOWN = 1000
"""Servers that something is remembered of."""
_speaks_sse: dict[str, bool] = {}
_protocols: dict[str, tuple[str, types.DiscoverResult | None]] = {}

McpCall = Callable[[Client], Awaitable[T]]


async def list_tools(
    server: Server, headers: Mapping[str, str], *, allow_private: bool, seconds: float
) -> list[dict[str, Any]]:
    """What a server lists, over all its pages. Raises McpFault, InvalidRequest."""
    return await _connect(server, headers, _list, allow_private=allow_private, seconds=seconds)


async def _list(client: Client) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        entries += [tool.model_dump(include=LISTED) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor or len(entries) > MAX_TOOLS:
            break
    return entries


async def call_tool(
    server: Server,
    headers: Mapping[str, str],
    call: McpToolCall,
    *,
    allow_private: bool,
    seconds: float,
) -> ToolResult:
    """A tool's answer, its failure included. Raises McpFault where there is no answer, InvalidRequest."""
    meta = {"_meta": {CALL_KEY: call.key}} if call.key else {}
    params = types.CallToolRequestParams.model_validate({"name": call.tool, "arguments": call.arguments, **meta})

    async def ask(client: Client) -> types.CallToolResult:
        # not by client.call_tool: that lists all tools first, to look at the shape of the result
        request = types.CallToolRequest(params=params)
        return await client.session.send_request(request, types.CallToolResult)

    return _result(await _connect(server, headers, ask, allow_private=allow_private, seconds=seconds))


def _result(answer: types.CallToolResult) -> ToolResult:
    content = [_item(block) for block in answer.content]
    if not content and answer.structured_content is not None:
        content = [TextItem(text=to_json(answer.structured_content).decode())]
    text = text_of(content)[:2000] or "The tool failed and did not say why."
    return ToolResult(content=content, error=text if answer.is_error else None)


def _item(block: types.ContentBlock) -> ContentItem:
    match block:
        case types.TextContent():
            return TextItem(text=block.text)
        case types.ImageContent():
            return ImageItem(image=ImageData(data=block.data))
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return TextItem(text=resource.text)
        case types.ResourceLink():
            return TextItem(text=f"[{block.name}]({block.uri})")
        case _:
            return TextItem(text=f"[{block.type}, which cannot be shown]")


# ---------------------------------------------------------------------------------------- connecting


async def _connect(
    server: Server, headers: Mapping[str, str], ask: McpCall[T], *, allow_private: bool, seconds: float
) -> T:
    if server.command:
        program, *arguments = server.command
        transport = StdioServerParameters(command=program, args=arguments)
        return await _run(Client(transport, client_info=_INFO, cache=None), ask, server, PinnedTransport(), seconds)
    try:
        target = await addresses.resolve(server.url, allow_private=allow_private or server.trusted)
    except InvalidRequest as error:
        raise McpFault(f"{server.label}: {error.message}") from None
    sse = _speaks_sse.get(server.url, target.url.split("?")[0].rstrip("/").endswith("/sse"))
    over_http = partial(_over_http, target, headers, ask, server, seconds=seconds)
    try:
        return await over_http(sse=sse)
    except McpFault as fault:
        if fault.status not in _WRONG_TRANSPORT_STATUSES:
            raise
        refused = fault
    try:
        answer = await over_http(sse=not sse)
    except McpFault as fault:
        raise (fault if fault.status == 401 else refused) from None
    if len(_speaks_sse) < MAX_KNOWN:
        _speaks_sse[server.url] = not sse
    return answer


async def _over_http(
    target: addresses.ResolvedUrl,
    headers: Mapping[str, str],
    ask: McpCall[T],
    server: Server,
    *,
    sse: bool,
    seconds: float,
) -> T:
    transport = PinnedTransport(target)
    if sse:
        http_client = transport.client(headers, seconds)
        sse_streams = sse_client(
            target.url, httpx_client_factory=lambda headers=None, timeout=None, auth=None: http_client
        )
        return await _run(
            Client(sse_streams, client_info=_INFO, cache=None, mode="legacy"), ask, server, transport, seconds
        )
    protocol, discovered = _protocols.get(server.url, ("auto", None))
    async with transport.client(headers, seconds) as http:
        http_streams = streamable_http_client(target.url, http_client=http)
        client = Client(http_streams, client_info=_INFO, cache=None, mode=protocol, prior_discover=discovered)
        try:
            return await _run(client, _remembering_protocol(server.url, ask), server, transport, seconds)
        except McpFault:
            _protocols.pop(server.url, None)
            raise


def _remembering_protocol(url: str, ask: McpCall[T]) -> McpCall[T]:
    """Ask, and remember which revision of the protocol the server speaks: the next request need not
    find out."""

    async def remembering(client: Client) -> T:
        discovered = client.session.discover_result
        if len(_protocols) < MAX_KNOWN:
            _protocols[url] = (client.protocol_version, discovered) if discovered else ("legacy", None)
        return await ask(client)

    return remembering


async def _run(client: Client, ask: McpCall[T], server: Server, transport: PinnedTransport, seconds: float) -> T:
    """Ask, and say in one kind of error what went wrong; an answer counts, however its connection ends."""
    answers: list[T] = []
    try:
        async with asyncio.timeout(seconds), client:
            transport.connected = True
            answers.append(await ask(client))
    except Exception as error:  # noqa: BLE001 - task groups raise groups, of anything
        if not answers:
            raise _fault(error, server, transport, seconds) from None
    return answers[0]


def _fault(error: BaseException, server: Server, transport: PinnedTransport, seconds: float) -> McpFault:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if transport.status in (401, 403):
        reason = "Unauthorized" if transport.status == 401 else "Forbidden"
        return McpFault(f"{server.label}: {reason} ({transport.status}).", transport.status)
    # what was connected is not asked again in another way: the tool may have run
    return McpFault(
        f"{server.label} {_error_message(error, transport, seconds)}", None if transport.connected else transport.status
    )


def _error_message(error: BaseException, transport: PinnedTransport, seconds: float) -> str:
    if isinstance(error, TimeoutError | httpx2.TimeoutException):  # whichever clock was first
        return f"did not answer within {seconds:g} s."
    if transport.too_large:
        return f"answered with more than {MAX_ANSWER_BYTES} bytes."
    if isinstance(error, MCPError):
        return f"answered with an error: {str(error)[:MAX_ERROR_CHARS]}"
    if isinstance(error, OSError | httpx2.TransportError):
        return "cannot be reached, or hung up."
    return f"answered with what is not MCP ({type(error).__name__})."


class PinnedTransport(httpx2.AsyncBaseTransport):
    """HTTP to the checked addresses of one target, and to nowhere else. Remembers the last status that
    refused, which the SDK keeps to itself."""

    def __init__(self, target: addresses.ResolvedUrl | None = None) -> None:
        self._target = target
        self._inner: httpx2.AsyncHTTPTransport | None = None
        self.status: int | None = None
        self.too_large = self.connected = False

    def client(self, headers: Mapping[str, str], seconds: float) -> httpx2.AsyncClient:
        """A client that goes this way."""
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False)
        timeout = httpx2.Timeout(seconds, connect=CONNECT_S)
        return httpx2.AsyncClient(
            headers=tracing.headers() | dict(headers), timeout=timeout, transport=self, trust_env=False
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target, inner = self._target, self._inner
        assert target is not None
        assert inner is not None  # a client was made
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        if (request.url.scheme, request.url.host, port) != (target.scheme, target.host, target.port):
            raise httpx2.ConnectError(f"{request.url.host} was not looked at")
        response = await self._first_that_connects(inner, target, request)
        if response.status_code >= 400:
            self.status = response.status_code
        response.stream = _BoundedStream(response.stream, self)  # type: ignore[arg-type]  # an async stream, by our transport
        return response

    async def _first_that_connects(
        self, inner: httpx2.AsyncHTTPTransport, target: addresses.ResolvedUrl, request: httpx2.Request
    ) -> httpx2.Response:
        failure: httpx2.TransportError | None = None
        for address in target.addresses:
            try:
                return await inner.handle_async_request(_pinned(request, address, target.host))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure or httpx2.ConnectError("no address")

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()


def _pinned(request: httpx2.Request, address: str, host: str) -> httpx2.Request:
    """The same request to an address, with the host's name in its head and in the handshake."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


class _BoundedStream(httpx2.AsyncByteStream):
    """A body that ends with an error when it is too large."""

    def __init__(self, stream: httpx2.AsyncByteStream, transport: PinnedTransport) -> None:
        self._stream, self._way = stream, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                self._way.too_large = True
                raise httpx2.ReadError("the answer is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


@cache
def _tls() -> ssl.SSLContext:
    """Made once: it reads all the certificates there are."""
    return ssl.create_default_context()
