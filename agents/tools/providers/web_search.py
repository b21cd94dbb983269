"""Searching the web: one tool, and the search engines that can do its work.

To the model it is ``brave_search`` and in lists ``web_search``, whichever engine answers, as Llama
Stack has it. A key comes with the request (provider data) or from the settings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp
import msgspec

from agents.loop.protocols.tools import Repeat, ServerToolGroup, ToolContext, ToolResult, failure
from agents.record.schemas.content import ToolDef, ToolParameter

GROUP, TOOL, LISTED_NAME = "builtin::websearch", "brave_search", "web_search"
SEARCH_S = 20.0
MAX_QUERY_CHARS, MAX_ANSWER_BYTES, MAX_CONTENT_CHARS = 400, 2 * 2**20, 4000
DEFAULT_RESULTS = 5


class SearchError(Exception):
    """An engine did not answer as it should; the message says how."""


@dataclass(frozen=True, slots=True)
class WebPage:
    title: str
    url: str
    content: str


class Engine(Protocol):
    """A search engine; ``key_name`` is where its key is found in provider data."""

    @property
    def provider_id(self) -> str: ...

    @property
    def key_name(self) -> str: ...

    @property
    def setting(self) -> str: ...

    async def search(self, session: aiohttp.ClientSession, query: str, limit: int, key: str) -> list[WebPage]:
        """The best first. Raises SearchError, aiohttp.ClientError."""
        ...


@dataclass(frozen=True, slots=True)
class Brave:
    base_url: str = "https://api.search.brave.com"
    provider_id: str = "brave-search"
    key_name: str = "brave_search_api_key"
    setting: str = "BRAVE_SEARCH_API_KEY"

    async def search(self, session: aiohttp.ClientSession, query: str, limit: int, key: str) -> list[WebPage]:
        params = {"q": query, "count": str(limit)}
        headers = {"X-Subscription-Token": key, "Accept": "application/json"}
        url = f"{self.base_url}/res/v1/web/search"
        async with session.get(url, params=params, headers=headers, allow_redirects=False) as response:
            body = await _body(response)
        return _pages(_rows(body, "web", "results"), "description", limit)


@dataclass(frozen=True, slots=True)
class Tavily:
    base_url: str = "https://api.tavily.com"
    provider_id: str = "tavily-search"
    key_name: str = "tavily_search_api_key"
    setting: str = "TAVILY_SEARCH_API_KEY"

    async def search(self, session: aiohttp.ClientSession, query: str, limit: int, key: str) -> list[WebPage]:
        body_json = {"query": query, "max_results": limit}
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{self.base_url}/search"
        async with session.post(url, json=body_json, headers=headers, allow_redirects=False) as response:
            body = await _body(response)
        return _pages(_rows(body, "results"), "content", limit)


async def _body(response: aiohttp.ClientResponse) -> Any:
    if response.status != 200:
        reason = "it refuses the key" if response.status in (401, 403) else f"status {response.status}"
        raise SearchError(reason)
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > MAX_ANSWER_BYTES:
            raise SearchError(f"more than {MAX_ANSWER_BYTES} bytes")
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SearchError("what is not JSON") from None


def _rows(body: Any, *path: str) -> Sequence[Any]:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, list) else []


def _pages(rows: Sequence[Any], content: str, limit: int) -> list[WebPage]:
    entries = [row for row in rows if isinstance(row, dict)]
    return [
        WebPage(
            str(row.get("title", ""))[:500],
            str(row.get("url", ""))[:2000],
            str(row.get(content, ""))[:MAX_CONTENT_CHARS],
        )
        for row in entries[:limit]
    ]


_DEFINITION = ToolDef(
    name=TOOL,
    description="Search the web for information",
    parameters=[ToolParameter(name="query", parameter_type="string", description="The query to search for")],
)


@dataclass(frozen=True)
class WebSearch:
    """The tool. ``keys`` are the settings', by an engine's provider id. The first engine with a key
    answers; one that comes with the request counts first."""

    engines: Sequence[Engine] = (Brave(), Tavily())
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    definition: ToolDef = _DEFINITION
    group: str = GROUP
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        query, limit = arguments.get("query"), arguments.get("max_results", DEFAULT_RESULTS)
        if not isinstance(query, str) or not query.strip():
            return failure("query: a text to search for is needed.")
        if not isinstance(limit, int) or not 1 <= limit <= 20:
            return failure("max_results: must be a whole number from 1 to 20.")
        engine, key = self._engine(context.provider_data)
        if engine is None:
            settings = " or ".join(candidate.setting for candidate in self.engines)
            return failure(f"The web cannot be searched here: no key is set. Set {settings}.")
        return await self._search(engine, key, query.strip()[:MAX_QUERY_CHARS], limit)

    def _engine(self, provider_data: Mapping[str, Any]) -> tuple[Engine | None, str]:
        sent_keys = [(candidate, provider_data.get(candidate.key_name)) for candidate in self.engines]
        configured_keys = [(candidate, self.keys.get(candidate.provider_id)) for candidate in self.engines]
        for engine, key in (*sent_keys, *configured_keys):
            if isinstance(key, str) and key and key.isascii() and key.isprintable():
                return engine, key
        return None, ""

    async def _search(self, engine: Engine, key: str, query: str, limit: int) -> ToolResult:
        name = engine.provider_id
        try:
            async with asyncio.timeout(SEARCH_S), aiohttp.ClientSession(trust_env=False) as session:
                pages = await engine.search(session, query, limit, key)
        except SearchError as error:
            return failure(f"{name} could not search: {error}.")
        except TimeoutError:
            return failure(f"{name} did not answer within {SEARCH_S:g} s.")
        except (aiohttp.ClientError, OSError) as error:  # its words hold the request, and the key in it
            return failure(f"{name} cannot be reached ({type(error).__name__}).")
        rows = [{"title": web_page.title, "url": web_page.url, "content": web_page.content} for web_page in pages]
        text = msgspec.json.encode({"query": query, "top_k": rows}).decode()
        sources = [{"type": "url", "url": web_page.url} for web_page in pages]
        return ToolResult(content=text, metadata={"provider": name, "sources": sources})


def group(tool: WebSearch) -> ServerToolGroup:
    """The tool as its group."""
    ids = [engine.provider_id for engine in tool.engines]
    first = next((name for name in ids if tool.keys.get(name)), ids[0])
    return ServerToolGroup(GROUP, first, [tool], list_names={TOOL: LISTED_NAME}, provider_ids=ids)
