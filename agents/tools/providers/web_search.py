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

from agents.loop.protocols.tools import ServerToolGroup, ToolContext, ToolResult, failure
from agents.record.schemas.content import ToolDef, ToolParameter

GROUP, TOOL, LISTED = "builtin::websearch", "brave_search", "web_search"
SEARCH_S = 20.0
MAX_QUERY, MAX_ANSWER, MAX_CONTENT = 400, 2 * 2**20, 4000
RESULTS = 5


class SearchError(Exception):
    """An engine did not answer as it should; the message says how."""


@dataclass(frozen=True, slots=True)
class Found:
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

    async def search(self, session: aiohttp.ClientSession, query: str, limit: int, key: str) -> list[Found]:
        """The best first. Raises SearchError, aiohttp.ClientError."""
        ...


@dataclass(frozen=True, slots=True)
class Brave:
    base_url: str = "https://api.search.brave.com"
    provider_id: str = "brave-search"
    key_name: str = "brave_search_api_key"
    setting: str = "BRAVE_SEARCH_API_KEY"

    async def search(self, session: aiohttp.ClientSession, query: str, limit: int, key: str) -> list[Found]:
        params = {"q": query, "count": str(limit)}
        headers = {"X-Subscription-Token": key, "Accept": "application/json"}
        url = f"{self.base_url}/res/v1/web/search"
        async with session.get(url, params=params, headers=headers, allow_redirects=False) as response:
            body = await _body(response)
        return _found(_rows(body, "web", "results"), "description", limit)


@dataclass(frozen=True, slots=True)
class Tavily:
    base_url: str = "https://api.tavily.com"
    provider_id: str = "tavily-search"
    key_name: str = "tavily_search_api_key"
    setting: str = "TAVILY_SEARCH_API_KEY"

    async def search(self, session: aiohttp.ClientSession, query: str, limit: int, key: str) -> list[Found]:
        asked = {"query": query, "max_results": limit}
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{self.base_url}/search"
        async with session.post(url, json=asked, headers=headers, allow_redirects=False) as response:
            body = await _body(response)
        return _found(_rows(body, "results"), "content", limit)


async def _body(response: aiohttp.ClientResponse) -> Any:
    if response.status != 200:
        why = "it refuses the key" if response.status in (401, 403) else f"status {response.status}"
        raise SearchError(why)
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > MAX_ANSWER:
            raise SearchError(f"more than {MAX_ANSWER} bytes")
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SearchError("what is not JSON") from None


def _rows(body: Any, *path: str) -> Sequence[Any]:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, list) else []


def _found(rows: Sequence[Any], content: str, limit: int) -> list[Found]:
    good = [row for row in rows if isinstance(row, dict)]
    return [
        Found(str(row.get("title", ""))[:500], str(row.get("url", ""))[:2000], str(row.get(content, ""))[:MAX_CONTENT])
        for row in good[:limit]
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

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        query, limit = arguments.get("query"), arguments.get("max_results", RESULTS)
        if not isinstance(query, str) or not query.strip():
            return failure("query: a text to search for is needed.")
        if not isinstance(limit, int) or not 1 <= limit <= 20:
            return failure("max_results: must be a whole number from 1 to 20.")
        engine, key = self._engine(context.provider_data)
        if engine is None:
            settings = " or ".join(one.setting for one in self.engines)
            return failure(f"The web cannot be searched here: no key is set. Set {settings}.")
        return await self._search(engine, key, query.strip()[:MAX_QUERY], limit)

    def _engine(self, provider_data: Mapping[str, Any]) -> tuple[Engine | None, str]:
        sent = [(one, provider_data.get(one.key_name)) for one in self.engines]
        kept = [(one, self.keys.get(one.provider_id)) for one in self.engines]
        for engine, key in (*sent, *kept):
            if isinstance(key, str) and key and key.isascii() and key.isprintable():
                return engine, key
        return None, ""

    async def _search(self, engine: Engine, key: str, query: str, limit: int) -> ToolResult:
        name = engine.provider_id
        try:
            async with asyncio.timeout(SEARCH_S), aiohttp.ClientSession(trust_env=False) as session:
                found = await engine.search(session, query, limit, key)
        except SearchError as error:
            return failure(f"{name} could not search: {error}.")
        except TimeoutError:
            return failure(f"{name} did not answer within {SEARCH_S:g} s.")
        except (aiohttp.ClientError, OSError) as error:  # its words hold the request, and the key in it
            return failure(f"{name} cannot be reached ({type(error).__name__}).")
        rows = [{"title": one.title, "url": one.url, "content": one.content} for one in found]
        text = msgspec.json.encode({"query": query, "top_k": rows}).decode()
        sources = [{"type": "url", "url": one.url} for one in found]
        return ToolResult(content=text, metadata={"provider": name, "sources": sources})


def group(tool: WebSearch) -> ServerToolGroup:
    """The tool as its group."""
    ids = [one.provider_id for one in tool.engines]
    first = next((one for one in ids if tool.keys.get(one)), ids[0])
    return ServerToolGroup(GROUP, first, [tool], list_names={TOOL: LISTED}, provider_ids=ids)
